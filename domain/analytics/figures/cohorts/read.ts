import type { Environment } from '../../../kernel/environment.ts'
import type { LeftOutMoney } from '../charts/unconverted.ts'
import { loadExchange } from '../factors.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import { loadProductVocabulary, NO_PRODUCTS } from '../product-vocabulary.ts'
import type { FactSource } from '../source.ts'
import { type GroupByCohort, groupedMembers } from './group.ts'
import { countByCohort, findMembers } from './members.ts'
import { paidMoney } from './money.ts'
import { type Ages, readPayments } from './payments.ts'
import type { LtvQuestion, RequestedMembers } from './question.ts'
import type { FactReader } from './user-values.ts'

/** Products are read only where the question is about them. */
export async function factReader(
  { pool, scanning }: FactAccess,
  environment: Environment,
  source: FactSource,
  { segment, filters }: RequestedMembers,
): Promise<FactReader> {
  const isOfProducts = segment?.code === 'product_id' || filters.has('product_id')
  return { scanning, environment, source, products: isOfProducts ? await loadProductVocabulary(pool, environment) : NO_PRODUCTS }
}

/** The starts of the cohorts, and the periods by days; `ends`: how long after the anchor they end, where that is counted. */
export type Periods = { starts: readonly number[]; ages: Ages; ends: readonly number[] }

export type NamedGroup = { code: string; label: string; group: GroupByCohort }

/** `segments`: null unless requested. `perUnit`: of the revenue. `asOf`: everything recorded before it counts. */
export type MemberFacts = {
  all: GroupByCohort
  segments: NamedGroup[] | null
  unconverted: LeftOutMoney[]
  perUnit: bigint
  asOf: number
  behind: number
}

/** The users of the question with what they paid, from the facts of one moment. */
export const readMemberFacts = (
  access: FactAccess,
  environment: Environment,
  question: LtvQuestion,
  { starts, ages, ends }: Periods,
): Promise<MemberFacts> =>
  withFacts(
    access,
    environment,
    async source => {
      const { pool: db, proceedsRates } = access
      const members = await findMembers(await factReader(access, environment, source, question), question, starts)
      const counts = await countByCohort(source, members, question.mode === 'by_days' ? ends : [])
      const exchange = await loadExchange(db, source, question)
      const money = await paidMoney(source, exchange, proceedsRates, question)
      const { rows, unconverted } = await readPayments(source, { members, mode: question.mode, ages, money, exchange })
      const { all, segments } = groupedMembers(counts, rows, members.segments?.length ?? 0)
      const named = members.segments?.map(({ code, label }, i) => ({ code, label, group: segments[i]! })) ?? null
      return { all, segments: named, unconverted, perUnit: money.perUnit, asOf: source.asOf, behind: source.behind }
    },
    { fresh: question.fresh },
  )
