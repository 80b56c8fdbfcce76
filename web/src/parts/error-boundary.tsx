import { Component, type ErrorInfo, type ReactNode } from 'react'

interface ErrorBoundaryProps {
  children: ReactNode
  /** Shown instead of children that failed. */
  fallback(error: Error): ReactNode
  /** A change of this shows the children again. */
  resetKey?: unknown
}

/** Keeps a failure where it happened: the rest of the page goes on. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { error: Error | null; key: unknown }> {
  override state = { error: null, key: this.props.resetKey }

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error }
  }

  static getDerivedStateFromProps(
    { resetKey }: ErrorBoundaryProps,
    { key }: { key: unknown },
  ): { error: null; key: unknown } | null {
    return key === resetKey ? null : { error: null, key: resetKey }
  }

  override componentDidCatch(error: Error, { componentStack }: ErrorInfo): void {
    console.error(error, componentStack)
  }

  override render(): ReactNode {
    const { error } = this.state
    return error === null ? this.props.children : this.props.fallback(error)
  }
}
