import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

export default function Overview() {
  return <Page title={t('Overview')}>{null}</Page>
}
