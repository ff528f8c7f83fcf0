import { Component, type PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'

/** Keeps a fault of one page from taking the whole app with it. */
export class PageFault extends Component<PropsWithChildren, { error?: Error }> {
  override state: { error?: Error } = {}

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    // A page's file is gone where a newer version was deployed meanwhile: a reload gets that one.
    return <FaultAlert error={error} title="This page failed" onRetry={() => location.reload()} />
  }
}
