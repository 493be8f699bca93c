import { type ProceedsRates, SHARE_PLACES } from '../../../events/money.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { PLATFORMS } from '../../../kernel/platform.ts'
import { type AttributeCode, attributeOf, isColumn } from '../attributes.ts'
import type { ScanCode } from '../charts/measure.ts'
import { decimalText } from './decimals.ts'

/** The conditions that filters and segment put on a row. `column`: of an attribute; null: it does not restrict the row. */
export type Restrict = (user: string, column: (code: AttributeCode) => string | null) => string[]

/** The context of the terms of a statement on the views. `from`, `end`: Unix seconds; of a state only `end` matters. */
export type ViewTerms = {
  environment: Environment
  now: number
  from: number
  end: number
  currency: string
  rateDate: string | null
  proceedsRates: ProceedsRates
  restrict: Restrict
}

/** A scan of `charts/scan.ts`, written with the views: the same terms in the same order. */
export type ViewScan = { from: string; where: string[]; terms: string[] }

const factor = (currency: string, day: string, { currency: target, rateDate }: ViewTerms): string =>
  `currency_factor(${currency}, ${rateDate === null ? day : `'${rateDate}'::date`}, '${target}')`

/** The converted amount; 0 when it cannot be converted. `prefix`: before the names of the columns. */
const converted = (row: string, terms: ViewTerms, prefix = ''): string => {
  const [own, usd] = [`${row}.${prefix}purchase_currency`, `'USD'`].map(currency => factor(currency, `${row}.${prefix}bought_on`, terms))
  return `coalesce(${row}.${prefix}amount * ${own}, ${row}.${prefix}usd_given * ${usd}, 0)`
}

/** The share of one unit that the store pays out. */
function share({ proceedsRates }: ViewTerms): string {
  const decimal = (units: bigint) => decimalText({ top: units, bottom: 10n ** BigInt(SHARE_PLACES) })
  const cases = PLATFORMS.map(platform => {
    const { recurring, loyal, oneTime } = proceedsRates[platform]
    return `when '${platform}' then case when t.is_one_time then ${decimal(oneTime)} when t.is_loyal then ${decimal(loyal)} else ${decimal(recurring)} end`
  })
  return `case t.target_platform ${cases.join(' ')} else 1 end`
}

function proceedsOf(terms: ViewTerms): string {
  const [own, usd] = ['t.purchase_currency', `'USD'`].map(currency => factor(currency, 't.bought_on', terms))
  return `coalesce(coalesce(t.proceeds, t.amount * ${share(terms)}) * ${own}, coalesce(t.proceeds_usd, t.usd_given * ${share(terms)}) * ${usd}, 0)`
}

function transactions({ environment, from, end, restrict }: ViewTerms, kinds: string[], terms: string[]): ViewScan {
  const where = [
    `t.environment = ${environment}`,
    ...[`t.happened >= ${from}`, `t.happened < ${end}`, `t.kind in (${kinds.map(kind => `'${kind}'`).join(', ')})`],
    ...restrict('t.user_no', code => `t.${code}`),
  ]
  return { from: 'perennial_transactions t', where, terms }
}

/**
 * The rows of a scan, added up where they convert alike: a rate takes longer to find than an amount to add. `keys`: what decides the conversion, by
 * name. What is null in one row of a group is so in all of them.
 */
function addedUp(row: string, { from, where, terms }: ViewScan, keys: Record<string, string>, amounts: string[]): ViewScan {
  const columns = [
    ...Object.entries(keys).map(([name, sql]) => `${sql} as ${name}`),
    ...amounts.map(name => `sum(${row}.${name}) as ${name}`),
  ]
  const groups = [...Object.values(keys), ...amounts.map(name => `${row}.${name} is null`)]
  const rows = `select ${columns.join(', ')}\n   from ${from}\n   where ${where.join(' and ')}\n   group by ${groups.join(', ')}`
  return { from: `(${rows}) ${row}`, where: [], terms }
}

const named = (row: string, names: string[]) => Object.fromEntries(names.map(name => [name, `${row}.${name}`]))

const OF_AMOUNTS = named('t', ['kind', 'purchase_currency', 'bought_on'])
const OF_PROCEEDS = { ...OF_AMOUNTS, ...named('t', ['target_platform', 'is_loyal']), is_one_time: 't.subscription is null' }
const OF_STATES = named('s', ['after_purchase_currency', 'after_bought_on', 'after_monthly_336ths'])
const STATED = ['amount', 'usd_given']

const PAID = ['start', 'conversion', 'renewal', 'one_time']
const whenRefund = (value: string) => `case when t.kind = 'refund' then ${value} else 0 end`
const unlessRefund = (value: string) => `case when t.kind = 'refund' then 0 else ${value} end`
const counted = (condition: string) => `case when ${condition} then 1 else 0 end`
const BY_RENEWAL = ['s.after_renewing is true', 's.after_renewing is not true']

/** The column of an attribute in a change; those of the user have no states. */
const ofState = (row: string, prefix: string) => (code: AttributeCode) => {
  const attribute = attributeOf(code)!
  return isColumn(attribute) ? `${row}.${attribute.columns.hasOneState ? '' : prefix}${code}` : null
}

const known = ({ environment, now }: ViewTerms, row: string): string[] => [
  `${row}.environment = ${environment}`,
  `(${row}.counts_from is null or ${row}.counts_from <= ${now})`,
]

/** The last change of each subscription before the end. */
function states(terms: ViewTerms, condition: string, sums: string[]): ViewScan {
  const last = `(select distinct on (c.subscription) c.* from perennial_subscription_changes c
   where ${[...known(terms, 'c'), `c.happened < ${terms.end}`].join(' and ')}
   order by c.subscription, c.happened desc) s`
  return { from: last, where: [condition, ...terms.restrict('s.user_no', ofState('s', 'after_'))], terms: sums }
}

/** Monthly amounts before and after each change, in 336ths; 0 on a state outside of the filters. */
function movement(terms: ViewTerms): ViewScan {
  const monthly = (prefix: string) => {
    const isInside = [`c.${prefix}amount is not null`, ...terms.restrict('c.user_no', ofState('c', prefix))].join(' and ')
    return `case when ${isInside} then c.${prefix}monthly_336ths * ${converted('c', terms, prefix)} else 0 end`
  }
  const where = [...known(terms, 'c'), `c.happened >= ${terms.from}`, `c.happened < ${terms.end}`].join(' and ')
  return {
    from: `(select ${monthly('before_')} as before,\n   ${monthly('after_')} as after\n   from perennial_subscription_changes c where ${where}) m`,
    where: ['m.before <> m.after'],
    terms: [
      'case when m.before = 0 then m.after else 0 end',
      'case when m.before > 0 and m.after > m.before then m.after - m.before else 0 end',
      'case when m.after > 0 and m.after < m.before then m.after - m.before else 0 end',
      'case when m.after = 0 then -m.before else 0 end',
    ],
  }
}

function ended(terms: ViewTerms): ViewScan {
  const where = [...known(terms, 'c'), `c.happened >= ${terms.from}`, `c.happened < ${terms.end}`]
  return {
    from: 'perennial_subscription_changes c',
    where: [...where, ...terms.restrict('c.user_no', ofState('c', 'after_'))],
    terms: ['c.paid_ended', 'c.trials_ended', 'c.cancelled'],
  }
}

function created({ environment, from, end, now, restrict }: ViewTerms): ViewScan {
  const where = [
    `u.environment = ${environment}`,
    `u.created >= ${from}`,
    `u.created < ${end}`,
    ...restrict('u.user_no', code => `u.${code}`),
  ]
  return { from: 'perennial_users u', where, terms: ['1', counted(`u.first_trial <= ${now}`), counted(`u.first_paid <= ${now}`)] }
}

function outcomes(terms: ViewTerms): ViewScan {
  const { now } = terms
  const [isPaid, isNew, isTrial] = [`t.kind <> 'trial'`, `t.kind in ('start', 'conversion')`, `t.kind = 'trial'`]
  const conditions = [
    ...[isPaid, `${isPaid} and t.refunded <= ${now}`, isNew, `${isNew} and t.cancelled <= ${now}`],
    ...[isTrial, `${isTrial} and t.cancelled <= ${now}`, `${isTrial} and t.converted <= ${now}`],
  ]
  return transactions(terms, ['trial', ...PAID], conditions.map(counted))
}

export function viewScan(code: ScanCode, terms: ViewTerms): ViewScan {
  switch (code) {
    case 'billed': {
      const amount = converted('t', terms)
      return addedUp(
        't',
        transactions(terms, [...PAID, 'credit', 'refund'], [unlessRefund(amount), whenRefund(amount)]),
        OF_AMOUNTS,
        STATED,
      )
    }
    case 'refunded':
      return addedUp('t', transactions(terms, ['refund'], [converted('t', terms)]), OF_AMOUNTS, STATED)
    case 'proceeds': {
      const proceeds = proceedsOf(terms)
      const scan = transactions(terms, [...PAID, 'credit', 'refund'], [unlessRefund(proceeds), whenRefund(proceeds)])
      return addedUp('t', scan, OF_PROCEEDS, [...STATED, 'proceeds', 'proceeds_usd'])
    }
    case 'outcomes':
      return outcomes(terms)
    case 'begun': {
      const kinds = ['trial', 'start', 'conversion', 'renewal']
      const isOf = kinds.map(kind => counted(`t.kind = '${kind}'`))
      return transactions(terms, kinds, isOf)
    }
    case 'ended':
      return ended(terms)
    case 'monthly': {
      const scan = states(terms, 's.after_amount is not null', [`s.after_monthly_336ths * ${converted('s', terms, 'after_')}`])
      return addedUp('s', scan, OF_STATES, ['after_amount', 'after_usd_given'])
    }
    case 'movement':
      return movement(terms)
    case 'standing in paid or grace':
      return states(terms, `s.after_state in ('paid', 'grace')`, [
        ...BY_RENEWAL.map(isIt => counted(`s.after_state = 'paid' and ${isIt}`)),
        counted(`s.after_state = 'grace'`),
      ])
    case 'standing in trial':
      return states(terms, `s.after_state = 'trial'`, BY_RENEWAL.map(counted))
    case 'created':
      return created(terms)
    case 'sold':
      throw new RangeError('the card of today is no chart')
    default:
      return code satisfies never
  }
}
