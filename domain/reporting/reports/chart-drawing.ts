import type { ReportFigure } from './chart-figures.ts'

/** A chart to draw. `id`: tells the patterns of several pictures of a page apart. */
export type DrawnChart = { figure: ReportFigure; zone: string; id: string }

/**
 * Draws charts as the console does, in colours that need no style sheet. Null: the console is not built, or this machine has no program for pixels; a
 * report then goes with tables and says so.
 */
export type ChartDrawing = {
  /** For a page with a table beside it: 5 ms of this process. */
  svg(chart: DrawnChart): Promise<string | null>
  /** For a mail: pixels are drawn in another thread, and packed in 20 ms of this one. */
  png(chart: DrawnChart): Promise<Uint8Array | null>
}

/** Says in a file or a message why there are no pictures. */
export const NO_PICTURES = 'The pictures were not drawn: this installation has not built its console, or lacks @resvg/resvg-js.'
