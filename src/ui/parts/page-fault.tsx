import { Component, type PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'

type PageFaultProps = PropsWithChildren<{ address: string }>

interface PageFaultState {
  address?: string
  error?: Error | undefined
}

/** Keeps a fault of one page from taking the whole app with it: at another address it is over. */
export class PageFault extends Component<PageFaultProps, PageFaultState> {
  override state: PageFaultState = {}

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  static getDerivedStateFromProps({ address }: PageFaultProps, state: PageFaultState): PageFaultState | null {
    return address === state.address ? null : { address, error: undefined }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    // A page's file is gone where a newer version was deployed meanwhile: a reload gets that one.
    return <FaultAlert error={error} title="This page failed" onRetry={() => location.reload()} />
  }
}
