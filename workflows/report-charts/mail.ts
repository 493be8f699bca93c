import { NO_PICTURES } from '../../domain/reporting/reports/chart-drawing.ts'
import type { MailPicture } from '../outgoing/smtp.ts'
import type { DeliveredCharts } from './delivered.ts'
import { escaped } from './html.ts'
import { limitTexts, momentText, pictureText, totalText, windowText } from './words.ts'

/** `file`: its format, address and the time until which it can be downloaded. */
export type ChartsMail = { name: string; file: { format: string; url: string; expires: string } }

const SOFT = 'color:#5b5e57;font-size:13px;line-height:1.5;margin:2px 0'
const LINK = 'color:#1f6f54'

/**
 * A mail of charts: words, a picture of each chart whose text has its numbers, and a link to the same window in the console. Programs for mail know no style
 * sheet; the ground is light and stays so where a program makes others dark.
 */
export async function mailOfCharts(
  charts: DeliveredCharts,
  { name, file }: ChartsMail,
): Promise<{ html: string; pictures: MailPicture[] }> {
  const { figures, zone, asOf } = charts.figures
  const drawn = await charts.pictures()
  const pictures = drawn.flatMap((content, at) =>
    content === null ? [] : [{ cid: `chart-${at}`, filename: `chart-${at + 1}.png`, contentType: 'image/png', content }],
  )
  const sections = figures.map(
    (figure, at) => `<h2 style="font-size:17px;margin:28px 0 2px">${escaped(figure.title)}</h2>
<p style="font-size:15px;line-height:1.5;margin:0 0 4px">${escaped(totalText(figure, zone))}</p>
${limitTexts(figure)
  .map(text => `<p style="${SOFT}">${escaped(text)}</p>`)
  .join('')}
${drawn[at] ? `<img src="cid:chart-${at}" alt="${escaped(pictureText(figure, zone))}" width="720" style="display:block;width:100%;max-width:720px;height:auto;border:0;background:#ffffff;color:#1c1d1a">` : `<p style="${SOFT}">${escaped(pictureText(figure, zone))}</p>`}
<p style="font-size:14px;margin:6px 0"><a href="${escaped(charts.linkOf(figure))}" style="${LINK}">Open in the console</a></p>`,
  )
  const isWithout = drawn.every(one => one === null)
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light only">
<meta name="supported-color-schemes" content="light only"><title>${escaped(name)}</title></head>
<body style="margin:0;padding:0;background:#ffffff"><div style="max-width:720px;margin:0 auto;padding:20px 16px;background:#ffffff;color:#1c1d1a;font-family:Inter,system-ui,-apple-system,'Segoe UI',Arial,sans-serif">
<h1 style="font-size:21px;margin:0 0 4px">${escaped(name)}</h1>
<p style="${SOFT}">${escaped(windowText(figures[0]!.answer, zone))} (${escaped(zone)}), against the same time before</p>
${isWithout ? `<p style="${SOFT}">${escaped(NO_PICTURES)}</p>` : ''}
${sections.join('\n')}
<p style="${SOFT};margin-top:28px"><a href="${escaped(file.url)}" style="${LINK}">All numbers as a file (${escaped(file.format)})</a>, until ${escaped(file.expires)}</p>
<p style="${SOFT}">Everything recorded before ${escaped(momentText(asOf, zone))} counts.</p>
</div></body></html>
`
  return { html, pictures }
}
