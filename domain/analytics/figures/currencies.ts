import type { Db } from '../../../store/connect.ts'

// One look at the index for each currency: there is a row for each of its days.
const CURRENCIES = `with recursive known (currency) as (
    (select currency from currency_rates order by currency limit 1)
    union all
    select (select currency from currency_rates r where r.currency > known.currency order by currency limit 1)
    from known where known.currency is not null
  ) select currency from known where currency <> 'USD'`

/** The currencies that money can be shown in: USD, then those with a rate, by alphabet. */
export async function listCurrencies(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ currency: string }>({ name: 'figures-currencies', text: CURRENCIES })
  return ['USD', ...rows.map(({ currency }) => currency).sort()]
}
