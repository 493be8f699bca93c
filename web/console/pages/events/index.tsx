import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Events() {
  return <Page title={t('Events')}>{null}</Page>
}
