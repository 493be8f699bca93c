// What conditions of a branch may ask beside the metrics of segments.

const EVENT = 'event:'
const STEP = 'step:'

/** The field or property of the triggering event that a condition asks for; null when it asks for something else. */
export const eventFieldOf = (metric: string): string | null =>
  metric.startsWith(EVENT) && metric.length > EVENT.length ? metric.slice(EVENT.length) : null
/** The step whose outcome, way or status a condition asks for; null when it asks for something else. */
export const stepNamedBy = (metric: string): string | null => (metric.startsWith(STEP) ? metric.slice(STEP.length) : null)
