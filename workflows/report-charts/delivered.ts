import { setImmediate } from 'node:timers/promises'
import type { ChartDrawing } from '../../domain/reporting/reports/chart-drawing.ts'
import type { ReportFigure, ReportFigures } from '../../domain/reporting/reports/chart-figures.ts'
import { consoleLink, type Place } from './link.ts'

/** More is too much for a mail that is read on the way: the pictures behind are left out, and the numbers stay. */
const MOST_BYTES = 1_000_000

/** What a delivery of charts shows besides its file. */
export type DeliveredCharts = {
  figures: ReportFigures
  linkOf(figure: ReportFigure): string
  /** In the order of the charts; null: not drawn, or left out of too many bytes. */
  pictures(): Promise<(Uint8Array | null)[]>
  /** Where a program without the file gets the picture of a chart; null: nothing is drawn. */
  pictureUrls(): Promise<string[] | null>
}

type Deps = { drawing: ChartDrawing; place: Place; pictureUrl: (at: number) => string }

export const deliveredCharts = (figures: ReportFigures, { drawing, place, pictureUrl }: Deps): DeliveredCharts => ({
  figures,
  linkOf: figure => consoleLink(figure, figures.zone, place),
  async pictures() {
    const pictures: (Uint8Array | null)[] = []
    let bytes = 0
    for (const [at, figure] of figures.figures.entries()) {
      const png = await drawing.png({ figure, zone: figures.zone, id: `chart-${at}` })
      bytes += png?.length ?? 0
      pictures.push(bytes > MOST_BYTES ? null : png)
      // Other deliveries of this process get their turn between two pictures.
      await setImmediate()
    }
    return pictures
  },
  async pictureUrls() {
    const [first] = figures.figures
    const isDrawn = first !== undefined && (await drawing.png({ figure: first, zone: figures.zone, id: 'chart' })) !== null
    return isDrawn ? figures.figures.map((_, at) => pictureUrl(at)) : null
  },
})
