import { Component, type PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'

type PageFaultProps = PropsWithChildren<{ address: string }>

interface PageFaultState {
  address?: string
  error?: Error | undefined
}

/** Keeps an error on one page from breaking the app. Going to another address clears it. */
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
    // A page's file may be gone because a newer version was deployed. A reload gets the new one.
    return <FaultAlert error={error} title="Something went wrong on this page" onRetry={() => location.reload()} />
  }
}
