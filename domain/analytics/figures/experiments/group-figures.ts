import type { Figures } from '../../../growth/experiments/figures.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { scanContext } from '../charts/chart.ts'
import {
  amountSql,
  converted,
  factorJoins,
  hasGivenProceeds,
  isLeftOut,
  PER_UNIT,
  PER_UNIT_OF_PROCEEDS,
  proceedsBaseSql,
  proceedsShare,
} from '../charts/money.ts'
import { roundedFigure } from '../charts/rounding.ts'
import { countedRows, type ScanContext } from '../charts/scan-rows.ts'
import { type LeftOutMoney, namedMoney } from '../charts/unconverted.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import type { FigureRelation, FigureRow, FigureStatement } from '../source.ts'
import { type AssignedQuery, loadAssigned } from './assigned.ts'

const PAID = 't.kind between 2 and 5'
/** Credits have negative amounts. */
const PAID_OR_CREDIT = `(${PAID} or t.kind = 7)`
const NEW = 't.kind in (2, 3)'

/** Sums of one user. Money in millionths of the currency and beyond: see `PER_UNITS`. */
const COUNTS = {
  trials: 't.kind = 1',
  converted_trials: 't.kind = 1 and t.converted_at < a.ends',
  cancelled_trials: 't.kind = 1 and t.cancelled_at < a.ends',
  trial_conversions: 't.kind = 3',
  subscriptions: NEW,
  cancelled_subscriptions: `${NEW} and t.cancelled_at < a.ends`,
  in_app_purchases: 't.kind = 5',
  payments: PAID,
}
type CountName = keyof typeof COUNTS

const PER_UNITS = { sales: PER_UNIT, proceeds: PER_UNIT_OF_PROCEEDS, refunds: PER_UNIT }
type MoneyName = keyof typeof PER_UNITS

/** So many users of a group have exactly these sums; most users have none at all. */
type Combination = Record<CountName, bigint> & Record<MoneyName, bigint> & { group: number; users: number }

/** The transactions of assigned users in their time, beside those users who have none. */
const joined = ({ source, money, now }: ScanContext): string =>
  `assigned a left join ${source.dialect.tables.transactions} t on t.user_no = a.user_no and t.happened >= a.starts and t.happened < a.ends
    and t.happened <= ${now}${factorJoins('t', money, { given: hasGivenProceeds('t'), isOptional: true })}`

function combinationsStatement(context: ScanContext, relation: FigureRelation): FigureStatement {
  const { dialect } = context.source
  const amount = amountSql('t', context.money, 'whole')
  const share = `${converted(proceedsBaseSql('t', context.money), context.money, 'whole')} * (${proceedsShare('t', context.money).sql})`
  const money: Record<MoneyName, string> = {
    sales: `case when ${PAID_OR_CREDIT} then ${amount} else 0 end`,
    proceeds: `case when ${PAID_OR_CREDIT} then ${share} when t.kind = 6 then -(${share}) else 0 end`,
    refunds: `case when t.kind = 6 then ${amount} else 0 end`,
  }
  const columns = [
    ...Object.entries(COUNTS).map(([name, condition]) => `sum(${countedRows(condition)}) as ${name}`),
    ...Object.entries(money).map(([name, sql]) => `${dialect.sum(sql)} as ${name}`),
    `sum(${countedRows(`${PAID} and ${isLeftOut('t')}`)}) as left_out`,
  ]
  const names = ['group_no', ...Object.keys(COUNTS), ...Object.keys(money), 'left_out'].map(name => `p.${name}`).join(', ')
  return {
    text: `select ${names}, count(*) as users from (
      select a.group_no, a.user_no, ${columns.join(', ')} from ${joined(context)} group by a.group_no, a.user_no) p group by ${names}`,
    relations: [relation, context.money.exchange.factors],
  }
}

const combinationOf = (row: FigureRow): Combination => {
  const number = (name: string) => (row[name] as bigint | null) ?? 0n
  const names = [...(Object.keys(COUNTS) as CountName[]), ...(Object.keys(PER_UNITS) as MoneyName[])]
  const sums = Object.fromEntries(names.map(name => [name, number(name)])) as Record<CountName | MoneyName, bigint>
  return { ...sums, group: Number(row.group_no), users: Number(row.users) }
}

/** Mean and sample variance over users. */
function spread(all: Combination[], amountOf: (one: Combination) => number): { mean: number; variance: number | null } {
  const users = all.reduce((sum, one) => sum + one.users, 0)
  const mean = all.reduce((sum, one) => sum + one.users * amountOf(one), 0) / users
  const squares = all.reduce((sum, one) => sum + one.users * (amountOf(one) - mean) ** 2, 0)
  return { mean, variance: users < 2 ? null : squares / (users - 1) }
}

function figuresOf(group: string, all: Combination[], users: number, pinned: number): Figures {
  const sum = (name: CountName | MoneyName) => all.reduce((total, one) => total + BigInt(one.users) * one[name], 0n)
  const having = (name: CountName) => all.reduce((total, one) => total + (one[name] > 0n ? one.users : 0), 0)
  const count = (name: CountName) => Number(sum(name))
  const money = (name: MoneyName) => roundedFigure({ top: sum(name), bottom: PER_UNITS[name] }, 2)
  const amounts = (name: MoneyName) => spread(all, one => Number(one[name]) / Number(PER_UNITS[name]))
  const [sales, proceeds, refunds] = [amounts('sales'), amounts('proceeds'), amounts('refunds')]
  return {
    group_id: group,
    users,
    pinned_users: pinned,
    paying_users: having('payments'),
    trial_users: having('trials'),
    trials: count('trials'),
    converted_trials: count('converted_trials'),
    cancelled_trials: count('cancelled_trials'),
    trial_conversions: count('trial_conversions'),
    subscriptions: count('subscriptions'),
    cancelled_subscriptions: count('cancelled_subscriptions'),
    in_app_purchases: count('in_app_purchases'),
    sales: money('sales'),
    proceeds: money('proceeds'),
    refunds: money('refunds'),
    arpu: roundedFigure({ top: sum('sales') - sum('refunds'), bottom: BigInt(users) * PER_UNIT }, 2),
    sales_mean: sales.mean,
    proceeds_mean: proceeds.mean,
    refunds_mean: refunds.mean,
    trials_variance: spread(all, one => Number(one.trials)).variance,
    subscriptions_variance: spread(all, one => Number(one.subscriptions)).variance,
    sales_variance: sales.variance,
    proceeds_variance: proceeds.variance,
    refunds_variance: refunds.variance,
  }
}

/** Payments without a rate, each once, whatever number of experiments its user is in. */
async function unconvertedOf(context: ScanContext, relation: FigureRelation): Promise<LeftOutMoney[]> {
  const rows = await context.source.query({
    text: `select d.currency, count(*) as transactions, sum(d.amount) as amount from (
      select distinct t.id, t.currency, t.amount from ${joined(context)} where ${PAID} and ${isLeftOut('t')}) d group by d.currency`,
    relations: [relation, context.money.exchange.factors],
  })
  return namedMoney(context.source, rows)
}

export type GroupFigures = { groups: Map<string, Figures>; unconverted: LeftOutMoney[]; behind: number }

/**
 * The figures of the users of each group since their assignment, within the experiment's time and [from, to), from the facts of charts. A group
 * without users has none.
 */
export async function groupFigures(
  access: FactAccess,
  environment: Environment,
  query: AssignedQuery & { currency: string; now: number },
): Promise<GroupFigures> {
  const { groups, users, pinned, relation } = await loadAssigned(access.scanning, environment, query)
  if (groups.length === 0) return { groups: new Map(), unconverted: [], behind: 0 }
  return withFacts(access, environment, async source => {
    const context = await scanContext(access, environment, source, { ...query, rateDate: null, filters: new Map() })
    const rows = await source.query(combinationsStatement(context, relation))
    const byGroup = Map.groupBy(rows.map(combinationOf), ({ group }) => group)
    const isComplete = rows.every(row => row.left_out === 0n || row.left_out === null)
    return {
      groups: new Map(groups.map((id, i) => [id, figuresOf(id, byGroup.get(i)!, users[i]!, pinned[i]!)])),
      unconverted: isComplete ? [] : await unconvertedOf(context, relation),
      behind: source.behind,
    }
  })
}
