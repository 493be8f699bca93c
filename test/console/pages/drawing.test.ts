import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import { Drawing } from '../../../web/console/chart/drawing.tsx'
import { layoutOf } from '../../../web/console/chart/layout.ts'
import { colourOf, dashOf, PALETTE } from '../../../web/console/chart/palette.ts'
import type { Picture } from '../../../web/console/chart/picture.ts'
import { Spark } from '../../../web/console/chart/spark.tsx'
import { pictureWith, START } from './pictures.ts'

const drawn = (picture: Picture, palette?: typeof PALETTE) =>
  renderToStaticMarkup(createElement(Drawing, { picture, layout: layoutOf(picture, 900, 320), id: 'c', ...(palette && { palette }) }))
const count = (text: string, part: string | RegExp) => text.split(part).length - 1

describe('the drawing on a server', () => {
  test('needs no browser and is the same each time', () => {
    const picture = pictureWith(
      [
        [1, 2, 3],
        [3, 2, 1],
      ],
      { stacked: true },
    )
    expect(drawn(picture)).toMatch(/^<svg class="drawing" width="900" height="320"/)
    expect(drawn(picture)).toBe(drawn(picture))
  })

  test('has its colours in attributes where no style sheet is', () => {
    const svg = drawn(pictureWith([[1, 2, 3]]), PALETTE)
    expect(svg).toContain(`fill="${PALETTE.series[0]}"`)
    expect(svg).not.toContain('var(')
    expect(svg).not.toContain('fill=""')
    expect(svg).not.toContain('stroke=""')
  })

  test('twelve lines of 2,000 points are twelve paths', () => {
    const values = Array.from({ length: 12 }, (_, line) => Array.from({ length: 2_000 }, (_, at) => line * at))
    expect(count(drawn(pictureWith(values, { kind: 'line' })), 'class="stroke"')).toBe(12)
  })

  test('what is not complete is hatched in bars and dashed in lines', () => {
    const open = { openFrom: START + 86_400 * 2 }
    const bars = drawn(pictureWith([[1, 2, 3]], open))
    expect(bars).toContain('fill="url(#c-0)"')
    expect(bars).toContain('id="c-0"')
    expect(drawn(pictureWith([[1, 2, 3]]))).not.toContain('url(#')
    expect(drawn(pictureWith([[1, 2, 3]], { ...open, kind: 'line' }))).toContain('stroke-dasharray="2 4"')
    expect(drawn(pictureWith([[1, 2, 3]], { kind: 'line' }))).not.toContain('stroke-dasharray="2 4"')
  })

  test('series are told apart by dashes, too, also after colours repeat', () => {
    const looks = Array.from({ length: 16 }, (_, at) => `${colourOf(at)} ${dashOf(at)}`)
    expect(new Set(looks).size).toBe(16)
    expect(
      drawn(
        pictureWith(
          [
            [1, 2],
            [2, 3],
          ],
          { kind: 'line' },
        ),
      ),
    ).toContain(`stroke-dasharray="${dashOf(1)}"`)
  })

  test('things that happened in one bucket share its letter line', () => {
    const notes = [
      { at: START + 10, letter: 'A' },
      { at: START + 20, letter: 'B' },
      { at: START + 86_400, letter: 'C' },
      { at: START - 1, letter: 'D' },
    ]
    const svg = drawn(pictureWith([[1, 2, 3]], { notes }))
    expect(svg).toContain('>A B</text>')
    expect(svg).toContain('>C</text>')
    expect(svg).not.toContain('>D<')
  })

  test('a name of a series is never markup', () => {
    const picture = pictureWith([[1, 2]])
    const svg = drawn({ ...picture, lines: [{ label: '<img onerror=alert(1)>', values: [1, 2] }] })
    expect(svg).not.toContain('<img')
  })

  test('an empty range draws an empty chart', () => {
    expect(drawn(pictureWith([[]]))).toContain('</svg>')
    expect(drawn(pictureWith([]))).toContain('</svg>')
  })

  test('a value between two gaps is a dot', () => {
    expect(count(drawn(pictureWith([[null, 5, null]], { kind: 'line' })), '<circle')).toBe(1)
  })
})

describe('the line on a tile', () => {
  const spark = (props: Parameters<typeof Spark>[0]) => renderToStaticMarkup(createElement(Spark, props))

  test('is dashed from where it is not complete', () => {
    expect(spark({ values: [1, 2, 3] })).not.toContain('open')
    expect(spark({ values: [1, 2, 3], open: 2 })).toContain('spark-line open')
  })

  test('begins at zero but for a level', () => {
    const y = (markup: string) => Number(markup.match(/spark-line" d="M0 ([\d.]+)/)![1])
    expect(y(spark({ values: [900, 1_000] }))).toBeLessThan(10)
    expect(y(spark({ values: [900, 1_000], level: true }))).toBeGreaterThan(20)
  })

  test('draws the previous period over the same width', () => {
    expect(spark({ values: [1, 2, 3], previous: [3, 2, 1, 9] })).toContain('spark-previous')
    expect(spark({ values: [1] })).not.toContain('<path')
  })
})
