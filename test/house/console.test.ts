import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { filtersOf, segmentationsOf } from '../../domain/analytics/figures/attributes.ts'
import { CHARTS } from '../../domain/analytics/figures/chart-table.ts'
import { COHORT_FILTERS, COHORT_SEGMENTATIONS } from '../../domain/analytics/figures/cohorts/question.ts'
import { PALETTE } from '../../web/console/chart/palette.ts'
import { type Attributes, attributesOf, COHORT_ATTRIBUTES } from '../../web/console/data/attributes.ts'
import { ROOT, withoutComments } from './sources.ts'

const FOLDER = 'web/console'
const files = readdirSync(join(ROOT, FOLDER), { recursive: true, encoding: 'utf8' })
  .filter(name => /\.(tsx?|css)$/.test(name) && !name.startsWith('dist/'))
  .map(name => ({ name, text: readFileSync(join(ROOT, FOLDER, name), 'utf8') }))
const scripts = files.filter(({ name }) => !name.endsWith('.css'))
const named = (found: typeof files) => found.map(({ name }) => name)

/** What the pages know of the service: the types of its operations, and of the console's own. */
const TYPES = new Set(['clients/typescript/src/index.ts', 'schemas/generated/console/api.ts'])

/** The only files that name colours. */
const OF_COLOURS = new Set(['styles/tokens.css', 'chart/palette.ts'])

describe('the pages of the console', () => {
  test('are files of at most 250 lines', () => {
    expect(files.length).toBeGreaterThan(60)
    expect(named(files.filter(({ text }) => text.split('\n').length > 251))).toEqual([])
  })

  test('name colours in one place', () => {
    const colour = /#[0-9a-f]{6}\b|#[0-9a-f]{3}\b(?=[;,)\s])|\brgba?\(|\bhsla?\(/i
    expect(named(files.filter(({ name, text }) => !OF_COLOURS.has(name) && colour.test(withoutComments(text))))).toEqual([])
  })

  test('use no property of styles that nothing defines: a button would look as if it had no danger', () => {
    const defined = new Set(files.flatMap(({ text }) => [...text.matchAll(/(--[a-z][\w-]*)['"]?\s*:/g)].map(([, of]) => of)))
    const used = files.flatMap(({ text }) => [...withoutComments(text).matchAll(/var\((--(?!mantine-)[a-z][\w-]*)\)/g)].map(([, of]) => of))
    expect(used.length).toBeGreaterThan(500)
    expect(used.filter(of => !defined.has(of))).toEqual([])
  })

  test('have the same colours of series in files and mails as on the screen', () => {
    const light = files.find(({ name }) => name === 'styles/tokens.css')!.text.split('[data-mantine-color-scheme="dark"]')[0]!
    const token = (of: string) => light.match(new RegExp(`--${of}: (#[0-9a-f]{6});`))?.[1]
    expect(PALETTE.series.map((_, at) => token(`c${at}`))).toEqual([...PALETTE.series])
    const { previous, text, soft, line, axis, panel } = PALETTE
    expect(['prev', 'text', 'soft', 'line', 'line-strong', 'panel'].map(token)).toEqual([previous, text, soft, line, axis, panel])
  })

  test('give a class its looks in one style sheet: those of all pages that were seen hold together', () => {
    const sheetsOf = new Map<string, Set<string>>()
    for (const { name, text } of files.filter(({ name }) => name.endsWith('.css')))
      for (const [, of] of withoutComments(text).matchAll(/^\.([a-z][\w-]*) \{/gm))
        sheetsOf.set(of!, (sheetsOf.get(of!) ?? new Set()).add(name))
    expect(sheetsOf.size).toBeGreaterThan(300)
    expect([...sheetsOf].filter(([, sheets]) => sheets.size > 1).map(([of, sheets]) => `${of}: ${[...sheets].join()}`)).toEqual([])
  })

  test('ask again in one way, which also hears of a change before a first answer', () => {
    const asking = scripts.filter(({ text }) => /\.(invalidate|refetch)Queries\(/.test(withoutComments(text)))
    // The session is never without an answer.
    expect(named(asking).sort()).toEqual(['data/ask-again.ts', 'data/client.ts'])
  })

  test('import only themselves and types of the service', () => {
    const outside = scripts.flatMap(({ name, text }) =>
      [...withoutComments(text).matchAll(/(import (?:type )?)[^'\n]*from '((?:\.\.\/)+[^']+)'/g)]
        .map(([, how, path]) => ({ how, path: join(FOLDER, name, '..', path!) }))
        .filter(({ how, path }) => !path.startsWith(`${FOLDER}/`) && !(TYPES.has(path) && how === 'import type '))
        .map(({ path }) => `${name} imports ${path}`),
    )
    expect(outside).toEqual([])
  })

  test('write no markup from texts and no style elements, and let the page behind scroll', () => {
    const forbidden = /dangerouslySetInnerHTML|\.innerHTML|<style|lockScroll(?!=\{false\}|: false)/
    expect(named(scripts.filter(({ text }) => forbidden.test(withoutComments(text))))).toEqual([])
  })

  test('colour by values with what takes a colour alone: a background may be an address, which the browser asks for', () => {
    expect(named(scripts.filter(({ text }) => /\bbackground(Image)?:/.test(styles(text))))).toEqual([])
  })
})

const styles = (text: string) => [...withoutComments(text).matchAll(/style=\{\{([^}]*)\}\}/g)].map(([, of]) => of).join('\n')

describe('the attributes of figures are those of the service, which the pages do not ask for them', () => {
  const codes = (of: readonly { code: string }[]) => of.map(({ code }) => code).sort()
  const known = ({ filters, splits }: Attributes) => ({ filters: filters.toSorted(), splits: splits.toSorted() })

  test.each(CHARTS.map(chart => [chart.code, chart] as const))('%s', (code, chart) => {
    expect(known(attributesOf(code))).toEqual({ filters: codes(filtersOf(chart)), splits: codes(segmentationsOf(chart)) })
  })

  test('cohorts and lifetime values', () => {
    expect(known(COHORT_ATTRIBUTES)).toEqual({ filters: codes(COHORT_FILTERS), splits: codes(COHORT_SEGMENTATIONS) })
  })
})
