import type { ScheduledReportRun } from '../../../../clients/typescript/src/index.ts'
import { t } from '../../parts/t.ts'
import { stateCode, stateOf } from './words.ts'

/** What became of a slot: colour, sign and text. */
export function Outcome({ run }: { run: Pick<ScheduledReportRun, 'outcome' | 'status'> }) {
  const { says, tone, sign } = stateOf(stateCode(run))
  return (
    <span className={`status ${tone}`}>
      <i aria-hidden="true">{sign}</i>
      {t(says)}
    </span>
  )
}
