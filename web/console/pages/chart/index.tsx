import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Chart() {
  return <Page title={t('Chart')}>{null}</Page>
}
