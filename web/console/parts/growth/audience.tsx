import './growth.css'
import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { useNamesIn } from '../conditions/named-pick.tsx'
import { conditionsInWords } from '../conditions/words.ts'
import { t } from '../t.ts'
import { percentText } from './words.ts'

/** Whom something is for, in one line: the share and the conditions. The whole of it is in the title. */
export function Audience({ percent, conditions }: { percent: number; conditions: readonly ConditionInput[] }) {
  const whom = conditionsInWords(conditions, useNamesIn(conditions))
  const text =
    conditions.length === 0
      ? percent === 100
        ? t('everybody')
        : t('{percent} of everybody', { percent: percentText(percent) })
      : t('{percent} of those for whom: {whom}', { percent: percentText(percent), whom })
  return (
    <span className="growth-audience" title={text}>
      <bdi>{text}</bdi>
    </span>
  )
}
