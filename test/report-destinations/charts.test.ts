// What people get of a report of charts: words, pictures whose texts have the numbers, links; and what goes where there are no pictures.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ReportFigures } from '../../domain/reporting/reports/chart-figures.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { deliveredCharts } from '../../workflows/report-charts/delivered.ts'
import { totalText } from '../../workflows/report-charts/words.ts'
import { emailReportDestination } from '../../workflows/report-destinations/email.ts'
import { objectOf } from '../../workflows/report-destinations/object-name.ts'
import { slackReportDestination } from '../../workflows/report-destinations/slack.ts'
import { webhooksReportDestination } from '../../workflows/report-destinations/webhooks.ts'
import { type MailHost, mailHost } from '../harness/mail.ts'
import { reportOf, scopeOf } from '../harness/report.ts'
import { jsonOf, type Vendor, type VendorReply, vendor } from '../harness/vendor.ts'

const out = outgoing({ allowPrivateNetwork: true })
let host: MailHost
let slack: Vendor
let replies: VendorReply[] = []
beforeAll(async () => {
  host = await mailHost()
  slack = await vendor(() => replies.shift() ?? { status: 200 })
})
afterAll(() => Promise.all([host.close(), slack.close(), out.close()]))
beforeEach(() => {
  host.received.length = 0
})
afterEach(() => {
  replies = []
  slack.requests.length = 0
})

const DAY = 86_400
/** Midnight in Berlin of Monday, 16 November 2026. */
const FROM = 1_794_783_600
const points = (values: number[], first = FROM) =>
  values.map((value, i) => ({ start_time: first + i * DAY, end_time: first + (i + 1) * DAY, value, partial: false }))
const series = (label: string, values: number[], totalPrev: number) => ({
  label,
  total: values.reduce((sum, value) => sum + value, 0),
  totalPrev,
  data: points(values),
  dataPrev: points(
    values.map(() => 1),
    FROM - 7 * DAY,
  ),
})
const WEEK = [10, 20, 30, 40, 50, 60, 70.5]
const answer = {
  ...{ code: 'sales', from: FROM, to: FROM + 7 * DAY, unit: 'day', environment: 1, currency: 'USD', measure: 'usd', totalType: 'sum' },
  ...{ seriesRelation: 'partsOfWhole', maxSeries: 11, horizontalLabelType: 'default', as_of: FROM + 8 * DAY, incomplete_from: null },
  series: [series('Sales', WEEK, 200)],
} as const
const HOSTILE = '<b>Sales</b> & "more" <!channel> \u202e'
const figure = (more: object = {}) => ({
  title: HOSTILE,
  filters: ['Country: DE'],
  query: { 'filter[country][]': ['DE,X'] },
  answer: { ...answer, ...more },
})
const figuresOf = (...all: object[]) =>
  ({ asOf: FROM + 8 * DAY, zone: 'Europe/Berlin', figures: all.map(figure) }) as unknown as ReportFigures

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', 'base64')
type Drawn = Uint8Array | null
/** A report of charts as a delivery gets it; `png`: what the pictures are. */
const reportWith = (figures: ReportFigures, png: Drawn = PNG, publicUrl = 'https://perennial.example', test = false) =>
  reportOf({
    run: { test },
    name: 'Our week',
    timezone: 'Europe/Berlin',
    charts: deliveredCharts(figures, {
      drawing: { svg: async () => null, png: async () => png },
      place: { publicUrl, project: '7', kind: 'sandbox' },
      pictureUrl: at => `${publicUrl}/files/exports/x/charts/${at + 1}.png?signature=s`,
    }),
  })

const mail = async (report: ReturnType<typeof reportWith>) => {
  const settings = { host: '127.0.0.1', port: host.port, secure: false, from: 'reports@shop.example', recipients: ['ann@example.com'] }
  expect(await emailReportDestination({ allowPrivateNetwork: true }).deliver(report, scopeOf(settings))).toMatchObject({
    outcome: 'delivered',
  })
  return host.received.at(-1)!.mail
}
const WORDS = '$280.50, +40.3 % against $200.00 in the 7 days before'

describe('a mail', () => {
  test('has the figures in words, a picture with them as its text, and a link to the same window', async () => {
    const { subject, text, html, attachments } = await mail(
      reportWith(figuresOf({ unconverted: [{ currency: 'XTS', amount: 5 }] }, { code: 'mrr' })),
    )
    expect(subject).toBe(`Our week: ${HOSTILE} $280.50 (+40.3 %)`)
    expect(text).toContain(WORDS)
    expect(text).toContain('  Country: DE\n  Without 5 XTS, for which there is no rate.\n')
    expect(html).toContain(WORDS)
    expect(attachments.map(({ mimeType, disposition, contentId }) => [mimeType, disposition, contentId])).toEqual([
      ['image/png', 'inline', '<chart-0>'],
      ['image/png', 'inline', '<chart-1>'],
    ])
    expect(html!.match(/<img src="cid:chart-\d"/g)!.length).toBe(2)
    expect(html).toContain('16 Nov 2026 to 22 Nov 2026')
    expect(html).toMatch(/alt="[^"]*Mon 16 Nov \$10\.00; Tue 17 Nov \$20\.00[^"]*"/)
    const link = 'https://perennial.example/console/charts/sales?p=7&env=sandbox&from=1794783600&to=1795388400&unit=day&tz=Europe%2FBerlin'
    expect(text).toContain(`${link}&f.country=DE%252CX`)
    expect(html).toContain(`${link}&f.country=DE%252CX`.replaceAll('&', '&amp;'))
    expect(html).not.toMatch(/<b>|<script|\u202e|<style/)
  })

  test('goes with the numbers alone where nothing is drawn, and says so', async () => {
    const { html, attachments } = await mail(reportWith(figuresOf({}), null))
    expect(attachments).toEqual([])
    expect(html).not.toContain('<img')
    expect(html).toContain('The pictures were not drawn')
    expect(html).toContain('Mon 16 Nov $10.00')
  })

  test('leaves out pictures that are too many bytes, and keeps their numbers', async () => {
    const { html, attachments } = await mail(reportWith(figuresOf({}, {}, {}), Buffer.concat([PNG, Buffer.alloc(400_000)])))
    expect(attachments.length).toBe(2)
    expect(html!.split('Mon 16 Nov $10.00').length - 1).toBe(3)
  })
})

describe('Slack', () => {
  const deliver = (report: ReturnType<typeof reportWith>) =>
    slackReportDestination(out).deliver(report, scopeOf({ webhook_url: `${slack.url}/hook` }))

  test('gets each picture by its address, with its words and without mentions', async () => {
    expect(await deliver(reportWith(figuresOf({}, {})))).toMatchObject({ outcome: 'delivered' })
    const [{ text, blocks }] = slack.requests.map(jsonOf) as [{ text: string; blocks: Record<string, string>[] }]
    expect(blocks.filter(({ type }) => type === 'image').map(({ image_url }) => image_url)).toEqual([
      'https://perennial.example/files/exports/x/charts/1.png?signature=s',
      'https://perennial.example/files/exports/x/charts/2.png?signature=s',
    ])
    expect(JSON.stringify(blocks)).toContain(`${WORDS}\\nCountry: DE`)
    expect(JSON.stringify([text, blocks.filter(({ type }) => type !== 'image')])).not.toContain('<!channel>')
  })

  test('gets a link whole or not at all', async () => {
    const figures = figuresOf({}, {})
    figures.figures[0]!.filters = ['Country: DE '.repeat(400)]
    figures.figures[1]!.query = { 'filter[product_id][]': Array(40).fill('a product with a name of some length that is not short') }
    expect(await deliver(reportWith(figures))).toMatchObject({ outcome: 'delivered' })
    const [{ blocks }] = slack.requests.map(jsonOf) as [{ blocks: { type: string; text: { text: string } }[] }]
    const [, long, many] = blocks.filter(({ type }) => type === 'section').map(({ text }) => text.text)
    expect(long!.length).toBeLessThan(3_000)
    expect(long).toMatch(/…\n<https:[^>]*\|Open in the console>$/)
    expect(many).not.toContain('<')
  })

  test('gets the words alone where it refuses the pictures', async () => {
    replies = [{ status: 400, body: 'invalid_blocks' }]
    expect(await deliver(reportWith(figuresOf({})))).toMatchObject({ outcome: 'delivered' })
    const [, second] = slack.requests.map(jsonOf) as { text: string; blocks?: object[] }[]
    expect(second!.blocks).toBeUndefined()
    expect(second!.text).toContain(WORDS)
  })

  test.each([
    ['nothing is drawn', null, 'https://perennial.example'],
    ['it does not reach the service', PNG, 'http://localhost:3000'],
  ])('gets the words alone where %s', async (_, png, publicUrl) => {
    await deliver(reportWith(figuresOf({}), png, publicUrl))
    expect(slack.requests.map(jsonOf).map(message => 'blocks' in (message as object))).toEqual([false])
  })
})

test('the object of a test is not that of the slot, which has the same window', () => {
  const nameOf = (test: boolean) => objectOf(reportWith(figuresOf({}), PNG, '', test), 'a/').name
  expect([nameOf(true), nameOf(false)]).toEqual([
    'a/rep_1/20260101T090000Z_20260102T090000Z_test.csv',
    'a/rep_1/20260101T090000Z_20260102T090000Z.csv',
  ])
})

test('a webhook has the totals and the moment', async () => {
  await webhooksReportDestination(out).deliver(reportWith(figuresOf({})), scopeOf({ url: `${slack.url}/hook` }))
  expect(jsonOf(slack.requests[0]!)).toMatchObject({
    as_of: '2026-11-23T23:00:00Z',
    charts: [{ code: 'sales', total: 280.5, total_previous: 200, series: [{ label: 'Sales', total: 280.5 }] }],
  })
})

test('words of a change say no fall where time alone can change the figure, and nothing of a division by nothing', () => {
  const words = (more: object) => totalText(figuresOf(more).figures[0]!, 'Europe/Berlin')
  expect(words({ incomplete_from: FROM + 6 * DAY })).toBe('$280.50 so far, still moving ($200.00 in the 7 days before)')
  expect(words({ series: [series('Sales', WEEK, 0)] })).toBe('$280.50, nothing in the 7 days before')
  expect(words({ series: [series('Sales', WEEK, 20)] })).toBe('$280.50, ×14 against $20.00 in the 7 days before')
  expect(words({ totalType: 'last', measure: 'count' })).toBe('280.5, +40.3 % against 200 before')
  const complete = { to: FROM + 3 * DAY, total: 40, totalPrev: 50 }
  expect(words({ measure: 'percent', totalType: 'average', complete, incomplete_from: FROM + 3 * DAY })).toBe(
    '40.00 %, of what began until 18 Nov 2026, −20.0 % against 50.00 % in the 3 days before',
  )
  expect(words({ series: [series('Won', WEEK, 1), series('Lost', WEEK, 1)], summarySeries: undefined })).toBe('Won $280.50, Lost $280.50')
})
