import { Component, type PropsWithChildren, type ReactNode } from 'react'

interface FormFaultProps {
  /** Shown instead of the form. */
  fallback: ReactNode
}

/** Keeps a schema that can't be rendered from breaking the page. */
export class FormFault extends Component<PropsWithChildren<FormFaultProps>, { isFaulty: boolean }> {
  override state = { isFaulty: false }

  static getDerivedStateFromError() {
    return { isFaulty: true }
  }

  override render() {
    return this.state.isFaulty ? this.props.fallback : this.props.children
  }
}
