import type { Line, Picture } from '../../../web/console/chart/picture.ts'

const DAY = 86_400
/** 1 November 2026 in UTC. */
export const START = 1_793_491_200

/** A picture of some series, each with as many days as it has values. */
export const pictureWith = (values: readonly (readonly (number | null)[])[], more: Partial<Picture> = {}): Picture => ({
  lines: values.map((own, at): Line => ({ label: `Series ${at}`, values: own })),
  starts: (values[0] ?? []).map((_, day) => START + day * DAY),
  kind: 'column',
  stacked: false,
  measure: 'usd',
  currency: 'USD',
  unit: 'day',
  zone: 'UTC',
  ...more,
})
