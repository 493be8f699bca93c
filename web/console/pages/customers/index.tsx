import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Customers() {
  return <Page title={t('Customers')}>{null}</Page>
}
