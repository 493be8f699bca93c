import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function LTV() {
  return <Page title={t('LTV')}>{null}</Page>
}
