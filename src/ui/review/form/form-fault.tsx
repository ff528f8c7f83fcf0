import { Component, type PropsWithChildren, type ReactNode } from 'react'

interface FormFaultProps {
  /** What is shown in the form's stead. */
  fallback: ReactNode
}

/** Keeps a schema that cannot be drawn from taking the page with it. */
export class FormFault extends Component<PropsWithChildren<FormFaultProps>, { isFaulty: boolean }> {
  override state = { isFaulty: false }

  static getDerivedStateFromError() {
    return { isFaulty: true }
  }

  override render() {
    return this.state.isFaulty ? this.props.fallback : this.props.children
  }
}
