import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Charts() {
  return <Page title={t('Charts')}>{null}</Page>
}
