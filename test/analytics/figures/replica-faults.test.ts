import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { metrics } from '../../../api/metrics.ts'
import { readiness } from '../../../api/readiness.ts'
import { withFacts } from '../../../domain/analytics/figures/open-source.ts'
import type { FactSource } from '../../../domain/analytics/figures/source.ts'
import { dollars, salesOf, sellingIn } from './coins.ts'
import { settingWithReplicas } from './open-replicas.ts'

const setting = settingWithReplicas()
const { sell, readSales } = sellingIn(setting)

test('where no file can be written, a temporary folder serves', async () => {
  await sell(1)
  await writeFile(join(setting.folder, 'replicas'), 'not a folder')
  const one = setting.open({ folder: join(setting.folder, 'replicas') })
  expect(await readSales(one)).toEqual({ sales: 1, money: dollars(1) })
  expect(one.answers).toEqual(['replica'])
})

test('where DuckDB could not start, it is started for the next environment', async () => {
  await sell(1)
  await writeFile(join(setting.folder, 'replicas'), 'not a folder')
  const one = setting.open({ folder: join(setting.folder, 'replicas') })
  const of = async (environment: number) => Number((await withFacts(one.access, environment, salesOf))[0]!.sales)
  // No temporary folder either.
  vi.stubEnv('TMPDIR', join(setting.folder, 'nowhere'))
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await of(setting.project.production)).toBe(1)
  vi.unstubAllEnvs()
  expect(await of(setting.project.sandboxEnvironment)).toBe(0)
  expect(one.answers).toEqual(['broken', 'replica'])
})

describe('beyond ANALYTICS_MEMORY Postgres answers, and it is counted as that', () => {
  const measured = () => {
    const measurements = metrics(readiness(setting.api.pool, 0))
    onTestFinished(() => measurements.close())
    const counted = async () =>
      Object.fromEntries(
        [...(await measurements.text()).matchAll(/^perennial_figures_total\{by="(\w+)"\} (\d+)/gm)].map(([, by, n]) => [by, n]),
      )
    return { onAnswer: measurements.figuresBy, counted }
  }

  test('facts that have no room: the replica is not tried again at once', async () => {
    await sell(5)
    const { onAnswer, counted } = measured()
    const one = setting.open({ memory: '1MB', onAnswer })
    for (let n = 0; n < 3; n++) expect(await readSales(one)).toEqual({ sales: 5, money: dollars(5) })
    expect(await counted()).toEqual({ memory: '3' })
    expect(one.errors).toEqual([expect.stringMatching(/^Out of Memory Error/)])
  })

  test('one question: the replica answers the next one', async () => {
    await sell(5)
    const { onAnswer, counted } = measured()
    const one = setting.open({ memory: '64MB', onAnswer })
    expect(await readSales(one)).toEqual({ sales: 5, money: dollars(5) })
    // DuckDB keeps a list in memory as a whole: 400 MB.
    const many = ({ driver, query, dialect }: FactSource) =>
      query({
        text:
          driver === 'duckdb'
            ? `select len(list(r.range + t.amount)) as n from range(10000000) r, ${dialect.tables.transactions} t`
            : `select 10000000 * count(*) as n from ${dialect.tables.transactions} t`,
      })
    expect(await withFacts(one.access, setting.project.production, many)).toEqual([{ n: 50_000_000n }])
    expect(await counted()).toEqual({ replica: '1', memory: '1' })
    expect(await readSales(one)).toEqual({ sales: 5, money: dollars(5) })
    expect([await counted(), one.errors]).toEqual([{ replica: '2', memory: '1' }, []])
  })
})

test('a sum of more than 128 bits is that of Postgres', async () => {
  await sell(3, '999999999999.999999')
  const one = setting.open()
  const huge = '170141183460469231731'
  const text = ({ dialect }: FactSource) =>
    `select ${dialect.sum(`${dialect.wide('t.amount')} * ${huge}`)} as money from ${dialect.tables.transactions} t where t.kind = 5`
  const [row] = await withFacts(one.access, setting.project.production, source => source.query({ text: text(source) }))
  expect(row!.money).toBe(3n * 999_999_999_999_999_999n * BigInt(huge))
  expect(one.answers).toEqual(['overflow'])
})
