import { Component, type PropsWithChildren } from 'react'
import { FaultAlert } from './fault-alert.tsx'

type PageFaultProps = PropsWithChildren<{ address: string }>

interface PageFaultState {
  address?: string
  error?: Error | undefined
}

/** Keeps an error on one page from breaking the app. Navigating to another page clears it. */
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
    // A deployment may have replaced the page's file. Reloading the page loads the new file.
    return <FaultAlert error={error} title="Something went wrong on this page" onRetry={() => location.reload()} />
  }
}
