import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Status() {
  return <Page title={t('Status')}>{null}</Page>
}
