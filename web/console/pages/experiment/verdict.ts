import type { ExperimentGroupSummary } from '../../../../clients/typescript/src/index.ts'
import { count } from '../../parts/format.ts'
import type { Tone } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'

type Compared = Pick<ExperimentGroupSummary, 'is_control' | 'users' | 'p_value' | 'is_significant' | 'recommended_sample_size'>

/** What the service is sure of, in words: it says whether a difference is significant, never which group has won. */
export function verdictOf(group: Compared): { says: string; tone: Tone; more: string } {
  const { is_control, users, p_value, is_significant, recommended_sample_size: needed } = group
  if (is_control) return { says: '', tone: 'mute', more: t('the others are compared with it') }
  if (p_value === null || is_significant === null)
    return { says: t('Too few people yet'), tone: 'mute', more: t('there is nothing to compare yet') }
  const p = pText(p_value)
  if (is_significant) return { says: t('Significant'), tone: 'info', more: t('{p}, below 0.05', { p }) }
  if (needed === null) return { says: t('No difference'), tone: 'mute', more: p }
  const each = t('{p}; about {needed} people per group would show a difference of this size', { p, needed: count(needed) })
  return { says: users < needed ? t('Too few people yet') : t('No difference shown'), tone: 'mute', more: each }
}

/** To four places; the exact value is in the title. */
const pText = (p: number): string => (p < 0.0001 ? 'p < 0.0001' : `p = ${p.toFixed(4)}`)
