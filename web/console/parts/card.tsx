import type { ReactNode } from 'react'

/** A panel with a title. `flush`: a table or a list that reaches the edges. */
export const Card = ({
  title,
  right,
  flush,
  className,
  children,
}: {
  title?: ReactNode
  right?: ReactNode
  flush?: boolean
  className?: string
  children: ReactNode
}) => (
  <section className={['card', flush && 'flush', className].filter(Boolean).join(' ')}>
    {(title || right) && (
      <div className="card-head">
        {title && <h2>{title}</h2>}
        {right && <div className="card-right">{right}</div>}
      </div>
    )}
    {children}
  </section>
)

/** Names and values below each other. */
export const Pairs = ({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) => (
  <dl className="pairs">
    {rows.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value ?? <span className="faint">–</span>}</dd>
      </div>
    ))}
  </dl>
)
