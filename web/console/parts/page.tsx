import { type ReactNode, useEffect, useRef } from 'react'

let isFirst = true

/** A page: its title, which the tab shows and which takes the focus after a change of pages, a line below it, and what one can do. */
export function Page({
  title,
  about,
  actions,
  wide,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  wide?: boolean
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Perennial`
  }, [title])
  const head = useRef<HTMLHeadingElement>(null)
  // A reader hears where it has come to. The first page is announced by the browser itself.
  useEffect(() => {
    if (!isFirst && !document.querySelector('[role=dialog]')) head.current?.focus({ preventScroll: true })
    isFirst = false
  }, [])
  return (
    <div className={wide ? 'page wide' : 'page'}>
      <header className="page-head">
        <div>
          <h1 tabIndex={-1} id="page-title" ref={head}>
            {title}
          </h1>
          {about && <div className="about">{about}</div>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
