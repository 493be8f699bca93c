/** The colours of charts where there is no style sheet: in files, mails and shared pages. The same as in `styles/tokens.css`, light. */
export const PALETTE = {
  series: ['#1f7a5c', '#3b6fc9', '#c26a1b', '#8a4fb5', '#b23a63', '#4a8f2c', '#0f8391', '#7a6a3a'],
  previous: '#a3a69d',
  text: '#1c1d1a',
  soft: '#5b5e57',
  line: '#e6e5e1',
  axis: '#d3d2cc',
  panel: '#ffffff',
} as const

export type Palette = typeof PALETTE

/** Colours repeat after eight series; the dashes then do not. */
export const colourOf = (series: number) => series % PALETTE.series.length

const DASHES = [undefined, '7 3', '2 3', '9 3 2 3'] as const
export const dashOf = (series: number): string | undefined => DASHES[(series + Math.floor(series / PALETTE.series.length)) % DASHES.length]

/** What tells the ninth series from the first where no dashes do: bars are paler. */
export const againOf = (series: number): number | undefined => (series >= PALETTE.series.length ? 0.55 : undefined)
/** The classes of a sign of a series. */
export const swatchOf = (series: number): string => `swatch s${colourOf(series)}${againOf(series) === undefined ? '' : ' again'}`
