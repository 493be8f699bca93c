import { type ReactNode, useDeferredValue } from 'react'

/** Drawn behind the rest of the page, in pieces between which the browser paints and answers. `until`: in its place before the first time. */
export const Behind = ({ until, children }: { until: ReactNode; children: ReactNode }) => useDeferredValue(children, until)
