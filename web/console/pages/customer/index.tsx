import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Customer() {
  return <Page title={t('Customer')}>{null}</Page>
}
