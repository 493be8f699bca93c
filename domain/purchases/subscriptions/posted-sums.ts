import { arrayOf } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import { exactSum, productOf } from '../../kernel/decimal.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import { isoMicros } from '../../kernel/time/instant.ts'
import { writeSums } from './recount.ts'
import type { CustomerStatus } from './status.ts'

/** A posted event that is a transaction and no refund. `begins` in ms, amounts as decimal texts. */
export type PostedSale = {
  id: string
  begins: number
  price: string | null
  currency: string | null
  price_usd: string | null
  product_id: string | null
}

/** A user without a recorded purchase and without a posted refund, with all posted sales. */
export type SalesOfUser = { user: string; sales: readonly PostedSale[] }

/** `first`, `last`: in ms. `currency`, `product`: of the last payment. `gross`: in USD. */
type Sums = {
  first: number | null
  last: number | null
  payments: number
  converted: number
  currency: string | null
  product: string | null
  gross: string
}

type Step = ReturnType<typeof inSteps>

/** USD for a unit of the currency on the day of the sale; undefined: there is no rate. */
type RateOf = (sale: PostedSale) => string | undefined

const dayOf = ({ begins }: PostedSale): string => new Date(begins).toISOString().slice(0, 10)
const isPayment = ({ price }: PostedSale): boolean => price !== null && !price.startsWith('-') && /[1-9]/.test(price)
const isLater = (one: PostedSale, other: PostedSale | null): boolean =>
  other === null || one.begins > other.begins || (one.begins === other.begins && one.id > other.id)

const RATES = `select k.currency, k.day, usd_rate(k.currency, k.day::date)::text as rate from unnest($1::text[], $2::text[]) k(currency, day)`

/** The rates of all days of the sales, in one statement. Most sales are in USD, and then nothing is read. */
async function ratesOf(tx: Tx, users: readonly SalesOfUser[], step: Step): Promise<RateOf> {
  const days = new Map<string, [currency: string, day: string]>()
  const key = (sale: PostedSale) => `${sale.currency} ${dayOf(sale)}`
  for (const { sales } of users)
    for (const sale of sales) {
      if (sale.currency !== null && sale.currency !== 'USD') days.set(key(sale), [sale.currency, dayOf(sale)])
      const pause = step(1)
      if (pause) await pause
    }
  if (days.size === 0) return ({ currency }) => (currency === 'USD' ? '1' : undefined)
  const pairs = [...days.values()]
  const values = [pairs.map(([currency]) => currency), pairs.map(([, day]) => day)]
  const { rows } = await tx.query<{ currency: string; day: string; rate: string | null }>({ name: 'rates-of-days', text: RATES, values })
  const rates = new Map(rows.map(({ currency, day, rate }) => [`${currency} ${day}`, rate]))
  return sale => (sale.currency === 'USD' ? '1' : sale.currency === null ? undefined : (rates.get(key(sale)) ?? undefined))
}

async function sumsOf(sales: readonly PostedSale[], rateOf: RateOf, step: Step): Promise<Sums> {
  let [first, last]: [number | null, PostedSale | null] = [null, null]
  let [payments, converted] = [0, 0]
  const gross = exactSum()
  for (const sale of sales) {
    first = Math.min(first ?? sale.begins, sale.begins)
    if (isPayment(sale)) {
      payments++
      if (isLater(sale, last)) last = sale
      const rate = rateOf(sale)
      const usd = rate === undefined ? sale.price_usd : rate === '1' ? sale.price! : productOf(sale.price!, rate)
      if (usd !== null) {
        converted++
        gross.add(usd)
      }
    }
    const pause = step(1)
    if (pause) await pause
  }
  return {
    first,
    last: last?.begins ?? null,
    payments,
    converted,
    currency: last?.currency ?? null,
    product: last && (last.product_id ?? ''),
    gross: gross.total(),
  }
}

const STORE = writeSums(`
  select k.*, 0::numeric as refunds
  from unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::int[], $7::int[], $8::text[], $9::text[], $10::numeric[])
    k(user_id, status, first_at, last_at, payments, converted, currency, product, gross)`)

const timeSql = (ms: number | null): string | null => (ms === null ? null : isoMicros(Math.round(ms * 1000)))

/**
 * The same as `recount`, from what a fold has read: to read the events once more took nearly as long as to write the sums. The users' rows are
 * locked.
 */
export async function storePostedSums(
  tx: Tx,
  environment: Environment,
  users: readonly SalesOfUser[],
  statuses: Map<string, CustomerStatus>,
): Promise<void> {
  if (users.length === 0) return
  const step = inSteps()
  const rateOf = await ratesOf(tx, users, step)
  const rows: (Sums & { user: string })[] = []
  for (const { user, sales } of users) rows.push({ user, ...(await sumsOf(sales, rateOf, step)) })
  await tx.query({
    name: 'store-posted-sums',
    text: STORE,
    values: [
      environment,
      arrayOf(rows, ({ user }) => user),
      arrayOf(rows, ({ user }) => statuses.get(user) ?? null),
      arrayOf(rows, ({ first }) => timeSql(first)),
      arrayOf(rows, ({ last }) => timeSql(last)),
      arrayOf(rows, ({ payments }) => payments),
      arrayOf(rows, ({ converted }) => converted),
      arrayOf(rows, ({ currency }) => currency),
      arrayOf(rows, ({ product }) => product),
      arrayOf(rows, ({ gross }) => gross),
    ],
  })
}
