import type { ReportFigure } from '../../domain/reporting/reports/chart-figures.ts'
import type { DeliveredCharts } from './delivered.ts'
import { limitTexts, pictureText, totalText, windowText } from './words.ts'

/** What one section, and the text of one picture, may have. */
const MOST = 2_900
const MOST_OF_PICTURE = 1_900

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text).toWellFormed()

/**
 * A message of charts as blocks: Slack gets the pictures at their addresses, so there are none where nothing is drawn or the service has no address that
 * Slack reaches. `safe`: makes a text one that mentions nobody and hides no link. Null: without pictures a text says the same.
 */
export async function blocksOfCharts(
  name: string,
  lines: readonly string[],
  charts: DeliveredCharts,
  safe: (text: string) => string,
): Promise<object[] | null> {
  const urls = await charts.pictureUrls()
  if (!urls?.every(url => url.startsWith('https://'))) return null
  const { figures, zone } = charts.figures
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text: cut(text, MOST) } })
  /** The words of a chart with its link, which is whole or not there. */
  const about = (figure: ReportFigure) => {
    const link = `\n<${charts.linkOf(figure)}|Open in the console>`
    const isShort = link.length < MOST / 2
    const words = [`*${safe(figure.title)}*: ${safe(totalText(figure, zone))}`, ...limitTexts(figure).map(safe)].join('\n')
    return section(`${cut(words, MOST - (isShort ? link.length : 0))}${isShort ? link : ''}`)
  }
  return [
    section(`*${safe(name)}*\n${safe(windowText(figures[0]!.answer, zone))} (${zone})`),
    ...figures.flatMap((figure, at) => [
      about(figure),
      { type: 'image', image_url: urls[at]!, alt_text: cut(pictureText(figure, zone), MOST_OF_PICTURE) },
    ]),
    ...lines.map(line => ({ type: 'context', elements: [{ type: 'mrkdwn', text: cut(safe(line), MOST) }] })),
  ]
}
