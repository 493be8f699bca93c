import type { Environment } from '../../../kernel/environment.ts'
import { roundedFigure } from '../charts/rounding.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import { anchored, findMembers, memberRows } from './members.ts'
import type { LtvQuestion } from './question.ts'
import { factReader } from './read.ts'

export type TrialConversion = { trials_started: number; trials_converted: number; conversion_rate: number; asOf: number; behind: number }

const RATE_DECIMALS = 4

/** How many trials of the users of the cohort have led to a payment, until now. */
export const computeTrialConversion = (access: FactAccess, environment: Environment, question: LtvQuestion): Promise<TrialConversion> =>
  withFacts(
    access,
    environment,
    async source => {
      const { now, anchor } = question
      const unsegmented = { ...question, segment: null }
      const members = await findMembers(await factReader(access, environment, source, unsegmented), unsegmented, [])
      const joined = members.condition === null ? '' : `join (${memberRows(source, members)}) m on m.user_no = t.user_no`
      const [row] = await source.query({
        text: `select count(*) as started, count(*) filter (where t.converted_at <= ${now}) as converted
        from ${source.dialect.tables.transactions} t ${joined}
        where t.kind = 1 and t.happened <= ${now} and ${anchored(`t.${anchor}`, members)}`,
        relations: members.relations,
      })
      const [started, converted] = [row!.started as bigint, row!.converted as bigint]
      return {
        trials_started: Number(started),
        trials_converted: Number(converted),
        conversion_rate: roundedFigure({ top: converted, bottom: started }, RATE_DECIMALS),
        asOf: source.asOf,
        behind: source.behind,
      }
    },
    { fresh: question.fresh },
  )
