import { renderToStaticMarkup } from 'react-dom/server'
import { Router } from 'wouter'
import { Frame } from './frame.tsx'

/** The frame's markup for a page's path. The build writes it into the page's document. */
export const frameMarkup = (path: string): string =>
  renderToStaticMarkup(
    <Router ssrPath={path}>
      <Frame />
    </Router>,
  )
