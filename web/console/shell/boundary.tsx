import { Component, type ReactNode } from 'react'
import { Empty } from '../parts/empty.tsx'
import { Fault } from '../parts/fault.tsx'
import { Page } from '../parts/page.tsx'
import { t } from '../parts/t.ts'
import { To } from '../parts/to.tsx'

/** What browsers say of a script that is gone: after an upgrade the service has other ones than an open tab asks for. */
const GONE = /import\w* .*module/i

/** A page that failed to load or to draw. The frame around it lives on. */
export const Broken = ({ error, reset }: { error: unknown; reset: () => void }) => {
  const isGone = GONE.test(String(error))
  return (
    <Page title={t('This page failed')}>
      <Fault
        error={isGone ? new Error(t('The service is away, or was upgraded since this tab was opened.')) : error}
        retry={isGone ? () => location.reload() : reset}
      />
    </Page>
  )
}

export const Missing = () => (
  <Page title={t('No such page')}>
    <Empty
      icon="search"
      title={t('There is no page at this address')}
      why={t('It may have moved, or the link is incomplete.')}
      action={<To to="/">{t('Go to the overview')}</To>}
    />
  </Page>
)

type Props = { children: ReactNode; fallback?: (error: Error, retry: () => void) => ReactNode }

/** Keeps a failure of a part of the page in that part. */
export class Boundary extends Component<Props, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }
  static getDerivedStateFromError(error: Error) {
    return { error }
  }
  retry = () => this.setState({ error: undefined })
  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return this.props.fallback?.(error, this.retry) ?? <Fault error={error} retry={this.retry} />
  }
}
