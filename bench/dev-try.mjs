import { DuckDBInstance } from '@duckdb/node-api'

const db = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '384MB' })
const c = await db.connect()
const f = process.argv[2] ?? '/tmp/dev-replicas/1-2c1b3dbf6447-0.duckdb'
await c.run(`attach '${f}' as facts_1 (read_only)`)
await c.run(
  `create or replace macro exact_sum(x) as case when abs(sum(x::double)) < 1e38 then sum(x) when count(x) = 0 then null else error('x') end`,
)
const words = (await c.runAndReadAll(`select no, word from facts_1.fact_words where length(word) = 3 and word ~ '^[A-Z]+$'`)).getRows()
const first = 20415,
  last = 20780
await c.run(
  `create temp table factors as select currency::bigint as currency, day::bigint as day, (1000000000000000 + currency * 1000000 + day)::hugeint as factor from (values ${words.map(w => `(${w[0]})`).join(',')}, (-1)) v(currency), range(${first}, ${last + 1}) r(day)`,
)
const t0 = 1787700129,
  p0 = 1779837729,
  e = 1795389729
const interval = `case when t.happened < ${t0} then 0 else 1 + ((t.happened - ${t0}) // 86400) end`
const time = async (name, q) => {
  const ms = []
  let rows
  for (let i = 0; i < 7; i++) {
    const t = performance.now()
    rows = (await c.runAndReadAll(q)).getRows()
    ms.push(performance.now() - t)
  }
  ms.sort((a, b) => a - b)
  console.log(name.padEnd(40), ms[3].toFixed(1), ms[6].toFixed(1), rows.length)
}
const amount = `case when f.factor is not null then (t.amount)::hugeint * f.factor else coalesce((t.usd_given)::hugeint * g.factor, 0) end`
const joins = `left join factors f on f.currency = t.currency and f.day = least(greatest(t.bought_on, ${first}), ${last}) left join factors g on g.currency = -1 and g.day = least(greatest(t.bought_on, ${first}), ${last})`
const where = `t.kind between 2 and 6 and t.happened < ${e} and t.happened >= ${p0}`
await time(
  'as is',
  `select x.number, x.interval, exact_sum(x.t0), exact_sum(x.t1), exact_sum(x.t2) from (select 0 as number, ${interval} as interval, case when t.kind = 6 then 0 else ${amount} end as t0, case when t.kind = 6 then ${amount} else 0 end as t1, case when f.factor is null and t.usd_given is null and t.amount <> 0 then 1 else 0 end as t2 from facts_1.transaction_facts t ${joins} where ${where}) x group by x.number, x.interval`,
)
await time(
  'plain sum',
  `select x.number, x.interval, sum(x.t0), sum(x.t1), sum(x.t2) from (select 0 as number, ${interval} as interval, case when t.kind = 6 then 0 else ${amount} end as t0, case when t.kind = 6 then ${amount} else 0 end as t1, case when f.factor is null and t.usd_given is null and t.amount <> 0 then 1 else 0 end as t2 from facts_1.transaction_facts t ${joins} where ${where}) x group by x.number, x.interval`,
)
await time(
  'pre only',
  `select 0 as number, ${interval} as interval, t.currency, t.bought_on, sum(case when t.kind = 6 then 0 else t.amount end) as a0, sum(case when t.kind = 6 then 0 else t.usd_given end) as g0, sum(case when t.kind = 6 then t.amount else 0 end) as a1, sum(case when t.kind = 6 then t.usd_given else 0 end) as g1, sum(case when t.usd_given is null and t.amount <> 0 then 1 else 0 end) as l from facts_1.transaction_facts t where ${where} group by all`,
)
await time(
  'pre, by kind',
  `select ${interval} as interval, t.currency, t.bought_on, t.kind = 6 as k, sum(t.amount) as a0, sum(t.usd_given) as g0, count(case when t.usd_given is null and t.amount <> 0 then 1 end) as l from facts_1.transaction_facts t where ${where} group by all`,
)
await time(
  'pre, no null usd',
  `select ${interval} as interval, t.currency, t.bought_on, t.kind = 6 as k, sum(t.amount) as a0 from facts_1.transaction_facts t where ${where} group by all`,
)
await time(
  'pre + outer',
  `select x.number, x.interval, exact_sum(case when f.factor is not null then x.a0 * f.factor else coalesce(x.g0 * g.factor, 0) end), exact_sum(case when f.factor is not null then x.a1 * f.factor else coalesce(x.g1 * g.factor, 0) end), sum(case when f.factor is null then l else 0 end) from (select 0 as number, ${interval} as interval, t.currency, least(greatest(t.bought_on, ${first}), ${last}) as day, sum(case when t.kind = 6 then 0 else t.amount end) as a0, sum(case when t.kind = 6 then 0 else t.usd_given end) as g0, sum(case when t.kind = 6 then t.amount else 0 end) as a1, sum(case when t.kind = 6 then t.usd_given else 0 end) as g1, sum(case when t.usd_given is null and t.amount <> 0 then 1 else 0 end) as l from facts_1.transaction_facts t where ${where} group by all) x left join factors f on f.currency = x.currency and f.day = x.day left join factors g on g.currency = -1 and g.day = x.day group by x.number, x.interval`,
)
await time('count only', `select count(*) from facts_1.transaction_facts t where ${where}`)
await time('by interval', `select ${interval} as i, sum(t.amount) from facts_1.transaction_facts t where ${where} group by 1`)
