import { readFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'

const db = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '384MB' })
const c = await db.connect()
await c.run(`attach '/tmp/dev-replicas/1-2c1b3dbf6447-0.duckdb' as facts_1 (read_only)`)
await c.run(
  `create or replace macro exact_sum(x) as case when abs(sum(x::double)) < 1e38 then sum(x) when count(x) = 0 then null else error('x') end`,
)
const words = (await c.runAndReadAll(`select no, word from facts_1.fact_words where length(word) = 3 and word ~ '^[A-Z]+$'`)).getRows()
await c.run(
  `create temp table factors as select currency::bigint as currency, day::bigint as day, (1000000000000000 + currency * 1000000 + day)::hugeint as factor from (values ${words.map(w => `(${w[0]})`).join(',')}, (-1)) v(currency), range(20415, 20781) r(day)`,
)
await c.run('create temp table durations (product bigint, monthly bigint)')
const sql = readFileSync(process.argv[2], 'utf8')
for (let i = 0; i < 3; i++) {
  const t = performance.now()
  await c.runAndReadAll(sql)
  console.log((performance.now() - t).toFixed(1))
}
const r = (await c.runAndReadAll('explain analyze ' + sql)).getRows()
console.log(r[0][1])
