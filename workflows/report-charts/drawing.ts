import type { ReportFigure } from '../../domain/reporting/reports/chart-figures.ts'

/** What stands in a picture besides the chart. `id`: tells the patterns of several pictures of a page apart. */
export type DrawnChart = { figure: ReportFigure; zone: string; id: string }

/**
 * Draws charts as the console does, in colours that need no style sheet. Null: the console is not built, or this machine has no program for pixels; a
 * report then goes with tables and says so. Each picture takes some 20 ms of this process: other work gets its turn between two of them.
 */
export type ChartDrawing = {
  /** Without its title, for a page that has the words beside it. */
  svg(chart: DrawnChart): Promise<string | null>
  png(chart: DrawnChart): Promise<Uint8Array | null>
}

/** Says in a file or a message why there are no pictures. */
export const NO_PICTURES = 'The pictures were not drawn: this installation has not built its console, or lacks @resvg/resvg-js.'
