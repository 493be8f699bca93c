import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Settings() {
  return <Page title={t('Settings')}>{null}</Page>
}
