import './growth.css'
import { percentText } from './words.ts'

/** A share as a bar and a number; the number says it all. */
export const PercentBar = ({ percent }: { percent: number }) => (
  <span className="growth-percent">
    <span className="growth-percent-bar" aria-hidden="true">
      <i style={{ width: `${percent}%` }} />
    </span>
    <data value={percent} title={String(percent)}>
      {percentText(percent)}
    </data>
  </span>
)
