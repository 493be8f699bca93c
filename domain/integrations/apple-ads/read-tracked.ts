import { paidMoney } from '../../analytics/figures/cohorts/money.ts'
import type { RevenueType } from '../../analytics/figures/cohorts/question.ts'
import { loadExchange } from '../../analytics/figures/factors.ts'
import { type Answering, type FactAccess, withFacts } from '../../analytics/figures/open-source.ts'
import type { FigureRow } from '../../analytics/figures/source.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Attributed } from './entities.ts'
import { ageEdges, closingEdges, DAY, type Days, exceeded, type ReportWindow } from './windows.ts'

/** The media source of users whom an ad of Apple brought, in lower case. */
const MEDIA_SOURCE = 'apple search ads'
const UNKNOWN = 'unknown'

/** `part`: of the day of creation, by the closing edges. `age`: of the payment, by the age edges. */
export type TrackedRow = { of: Attributed; part: number; age: number }
export type TrackedUsers = TrackedRow & { users: number; paying: number; payers: number[] }
export type Tracked = {
  users: TrackedUsers[]
  trials: (TrackedRow & { trials: number })[]
  revenue: (TrackedRow & { revenue: bigint })[]
  perUnit: bigint
  behind: number
}

type Money = { currency: string; revenue: RevenueType; now: number }
export type TrackedQuestion = Money & { days: Days; countries: readonly string[] | null; windows: readonly ReportWindow[] }

const count = (row: FigureRow, name: string): number => Number(row[name] ?? 0n)

/** SQL for whether a row is of a user whom an ad of Apple brought, and of these countries. */
async function conditionOf(source: Answering, countries: readonly string[] | null, row: string): Promise<string> {
  const numbers = (await source.query({ text: `select distinct u.media from ${source.dialect.tables.users} u where u.media <> 0` })).map(
    one => Number(one.media),
  )
  const texts = await source.textsOf(numbers)
  const media = numbers.filter(number => texts.get(number)?.toLowerCase() === MEDIA_SOURCE)
  const isApple = media.length === 0 ? 'false' : `${row}.media in (${media.join(', ')})`
  if (countries === null) return isApple
  const known = [...(await source.numbersOf(countries.filter(one => one !== UNKNOWN))).values()]
  const all = countries.includes(UNKNOWN) ? [0, ...known] : known
  return all.length === 0 ? 'false' : `${isApple} and coalesce(${row}.country, 0) in (${all.join(', ')})`
}

const KEYS = ['campaign', 'ad_set', 'ad'] as const

async function attributedRows(source: Answering, rows: FigureRow[]): Promise<(TrackedRow & { row: FigureRow })[]> {
  const numbers = new Set(rows.flatMap(row => KEYS.map(key => Number(row[key] ?? 0n))))
  const texts = await source.textsOf([...numbers])
  const textOf = (row: FigureRow, key: (typeof KEYS)[number]) => texts.get(Number(row[key] ?? 0n)) ?? null
  return rows.map(row => ({
    row,
    of: { campaign: textOf(row, 'campaign'), ad_set: textOf(row, 'ad_set'), ad: textOf(row, 'ad') },
    part: count(row, 'part'),
    age: count(row, 'age'),
  }))
}

/** Paid periods, one-time purchases, and what was credited for them. */
const PAID = '(t.kind between 2 and 5 and t.amount > 0 or t.kind = 7)'

async function payments(source: Answering, access: FactAccess, question: Money) {
  const exchange = await loadExchange(access.pool, source, { currency: question.currency, rateDate: null, now: question.now })
  const money = await paidMoney(source, exchange, access.proceedsRates, {
    currency: question.currency,
    rateDate: null,
    revenue: question.revenue,
    now: question.now,
  })
  const { parts, join, perUnit } = money
  const columns = parts.map(({ sql }, i) => `${parts.length === 1 ? source.dialect.sum(sql) : `sum(${sql})`} as p${i}`)
  const revenueOf = (row: FigureRow): bigint =>
    parts.reduce((sum, { weight }, i) => sum + weight * ((row[`p${i}`] as bigint | null) ?? 0n), 0n)
  return { columns: columns.join(', '), join, relations: [exchange.factors], perUnit, revenueOf }
}

/** What the users who were created in the range and whom an ad of Apple brought did until now. */
export const readTracked = (access: FactAccess, environment: Environment, question: TrackedQuestion): Promise<Tracked> =>
  withFacts(access, environment, async source => {
    const { days, now, windows, countries } = question
    const { divide, tables } = source.dialect
    const [from, until] = [days.first * DAY, Math.min(days.end * DAY, now + 1)]
    const part = exceeded(divide('u.created', DAY, until), closingEdges(windows))
    const condition = `${await conditionOf(source, countries, 'u')} and u.created >= ${from} and u.created < ${until}`
    const payers = windows.map(({ days: last }, i) => {
      const isInTime = last === null ? '' : ` and u.first_paid - u.created < ${(last + 1) * DAY}`
      return `sum(case when u.first_paid <= ${now}${isInTime} then 1 else 0 end) as w${i}`
    })
    const keys = KEYS.map(key => `u.${key}`).join(', ')
    const users = await source.query({
      text: `select ${[keys, `${part} as part`, 'count(*) as users', `sum(case when u.first_paid <= ${now} then 1 else 0 end) as paying`, ...payers].join(', ')}
        from ${tables.users} u where ${condition} group by 1, 2, 3, 4`,
    })
    const members = `(select u.user_no, ${keys}, ${part} as part from ${tables.users} u where ${condition}) u`
    const own = `t.created >= ${from} and t.created < ${until} and t.happened <= ${now}`
    const trials = await source.query({
      text: `select ${keys}, u.part, count(*) as trials from ${tables.transactions} t join ${members} on u.user_no = t.user_no
        where t.kind = 1 and ${own} group by 1, 2, 3, 4`,
    })
    const money = await payments(source, access, question)
    const revenue = await source.query({
      text: `select t.u_campaign as campaign, t.u_ad_set as ad_set, t.u_ad as ad, t.part, t.age, ${money.columns}
        from (select t.*, ${KEYS.map(key => `u.${key} as u_${key}`).join(', ')}, u.part, ${exceeded('t.happened - t.created', ageEdges(windows))} as age
          from ${tables.transactions} t join ${members} on u.user_no = t.user_no where ${PAID} and ${own}) t ${money.join}
        group by 1, 2, 3, 4, 5`,
      relations: money.relations,
    })
    return {
      users: (await attributedRows(source, users)).map(({ row, ...rest }) => ({
        ...rest,
        users: count(row, 'users'),
        paying: count(row, 'paying'),
        payers: windows.map((_, i) => count(row, `w${i}`)),
      })),
      trials: (await attributedRows(source, trials)).map(({ row, ...rest }) => ({ ...rest, trials: count(row, 'trials') })),
      revenue: (await attributedRows(source, revenue)).map(({ row, ...rest }) => ({ ...rest, revenue: money.revenueOf(row) })),
      perUnit: money.perUnit,
      behind: source.behind,
    }
  })

/** `day`: of creation for users, of the purchase for the rest. */
export type TrackedDay = { of: Attributed; day: number; users: number; trials: number; payers: number; revenue: bigint }

/** What users whom an ad of Apple brought did on each day of the range, whenever they were created. */
export const readTrackedDays = (
  access: FactAccess,
  environment: Environment,
  question: Money & { days: Days; countries: readonly string[] | null },
): Promise<{ rows: TrackedDay[]; perUnit: bigint; behind: number }> =>
  withFacts(access, environment, async source => {
    const { days, now, countries } = question
    const { divide, tables } = source.dialect
    const [from, until] = [days.first * DAY, Math.min(days.end * DAY, now + 1)]
    const condition = await conditionOf(source, countries, 'u')
    const users = await source.query({
      text: `select u.campaign, ${divide('u.created', DAY, until)} as part, count(*) as users from ${tables.users} u
        where ${condition} and u.created >= ${from} and u.created < ${until} group by 1, 2`,
    })
    const members = `(select u.user_no, u.campaign from ${tables.users} u where ${condition}) u on u.user_no = t.user_no`
    const within = `t.happened >= ${from} and t.happened < ${until}`
    const day = divide('t.happened', DAY, until)
    const counts = await source.query({
      text: `select u.campaign, ${day} as part, sum(case when t.kind = 1 then 1 else 0 end) as trials,
          count(distinct case when t.kind between 2 and 5 and t.amount > 0 then t.user_no end) as payers
        from ${tables.transactions} t join ${members} where t.kind between 1 and 5 and ${within} group by 1, 2`,
    })
    const money = await payments(source, access, question)
    const revenue = await source.query({
      text: `select t.u_campaign as campaign, ${day} as part, ${money.columns}
        from (select t.*, u.campaign as u_campaign from ${tables.transactions} t join ${members} where ${PAID} and ${within}) t ${money.join}
        group by 1, 2`,
      relations: money.relations,
    })
    const rows = (await attributedRows(source, [...users, ...counts, ...revenue])).map(({ row, of, part }) => ({
      of,
      day: part,
      users: count(row, 'users'),
      trials: count(row, 'trials'),
      payers: count(row, 'payers'),
      revenue: 'p0' in row ? money.revenueOf(row) : 0n,
    }))
    return { rows, perUnit: money.perUnit, behind: source.behind }
  })
