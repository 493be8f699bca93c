import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Cohorts() {
  return <Page title={t('Cohorts')}>{null}</Page>
}
