import { Component, type PropsWithChildren, type ReactNode } from 'react'

interface FaultBoundaryProps {
  /** Shown instead of the children. */
  fallback: ReactNode
}

/** Keeps something that can't be rendered from breaking the page. */
export class FaultBoundary extends Component<PropsWithChildren<FaultBoundaryProps>, { isFaulty: boolean }> {
  override state = { isFaulty: false }

  static getDerivedStateFromError() {
    return { isFaulty: true }
  }

  override render() {
    return this.state.isFaulty ? this.props.fallback : this.props.children
  }
}
