import { type ReactNode, startTransition, useEffect, useState } from 'react'

/** Drawn once the rest of the page is painted, in pieces between which the browser answers. `until`: in its place before the first time. */
export function Behind({ until, children }: { until: ReactNode; children: ReactNode }) {
  const [shown, show] = useState(until)
  useEffect(() => afterPaint(() => startTransition(() => show(children))), [children])
  return shown
}

/** Calls after the next frame, at once where nobody sees frames. Returns what takes it back. */
function afterPaint(then: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const soon = () => {
    timer = setTimeout(then)
  }
  if (document.hidden) soon()
  const frame = document.hidden ? undefined : requestAnimationFrame(soon)
  return () => {
    clearTimeout(timer)
    if (frame !== undefined) cancelAnimationFrame(frame)
  }
}
