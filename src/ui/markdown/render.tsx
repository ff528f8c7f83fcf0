import { Text } from '@mantine/core'
import { type MarkdownToJSX, parser, RuleType } from 'markdown-to-jsx'
import { createElement, Fragment, type ReactNode, useMemo } from 'react'
import { ShownText } from '../json/shown-text.tsx'
import { CitedNames, CitedText } from './cited-text.tsx'
import classes from './markdown.module.css'

type Node = MarkdownToJSX.ASTNode

/** Tags in the text stay text. Links keep their targets, which `webAddress` checks. */
const OPTIONS: MarkdownToJSX.Options = {
  disableParsingRawHTML: true,
  ignoreHTMLBlocks: true,
  sanitizer: target => target,
}

/** Browsers fail on deeper nesting. */
const MAX_DEPTH = 30

interface RenderedMarkdownProps {
  text: string
  /** Shown instead of Markdown that is nested too deeply. */
  fallback: ReactNode
}

/** A pipeline's Markdown. Loads nothing: images are links, and a link shows the host that it leads to. */
export function RenderedMarkdown({ text, fallback }: RenderedMarkdownProps) {
  const content = useMemo(() => contentOf(text), [text])
  if (content === undefined) return fallback
  return (
    <div className={classes.markdown} dir="auto">
      {content}
    </div>
  )
}

function contentOf(text: string): ReactNode {
  try {
    return all(parser(text, OPTIONS), 0)
  } catch {
    // The parser calls itself for each level, so thousands of levels exhaust the stack.
    return undefined
  }
}

/** Elements whose order never changes need no keys. */
const all = (nodes: readonly Node[], depth: number): ReactNode =>
  createElement(Fragment, null, ...nodes.map(node => rendered(node, depth)))

function rendered(node: Node, depth: number): ReactNode {
  if (depth > MAX_DEPTH) throw new Error('the Markdown is nested too deeply')
  const inside = (nodes: readonly Node[]) => all(nodes, depth + 1)
  switch (node.type) {
    case RuleType.text:
      return <CitedText text={node.text} />
    case RuleType.paragraph:
      return <p>{inside(node.children)}</p>
    case RuleType.heading:
      // The page has its own headings.
      return (
        <p className={classes.heading} data-level={node.level}>
          {inside(node.children)}
        </p>
      )
    case RuleType.textFormatted:
      return createElement(FORMATS.get(node.tag) ?? 'span', null, inside(node.children))
    case RuleType.codeInline:
      return (
        <code>
          <CitedText text={node.text} />
        </code>
      )
    case RuleType.codeBlock:
    case RuleType.frontmatter:
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <pre tabIndex={0}>
          <ShownText text={node.text} />
        </pre>
      )
    case RuleType.blockQuote:
      return <blockquote>{inside(node.children)}</blockquote>
    case RuleType.unorderedList:
      return <ul>{items(node.items, inside)}</ul>
    case RuleType.orderedList:
      return <ol start={node.start}>{items(node.items, inside)}</ol>
    case RuleType.gfmTask:
      return <input type="checkbox" checked={node.completed} disabled aria-label="Task" readOnly />
    case RuleType.table:
      return table(node, inside)
    case RuleType.link:
      return <Target target={node.target ?? ''}>{inside(node.children)}</Target>
    case RuleType.image:
      return (
        <Target target={node.target ?? ''}>
          Image: <ShownText text={node.alt ?? ''} />
        </Target>
      )
    case RuleType.footnoteReference:
      return (
        <sup>
          <ShownText text={node.text} />
        </sup>
      )
    case RuleType.refCollection:
      return notes(node)
    case RuleType.breakLine:
      return <br />
    case RuleType.breakThematic:
      return <hr />
    case RuleType.htmlComment:
      return <ShownText text={`<!--${node.text}-->`} />
    // Definitions are in `refCollection`, and tags aren't parsed.
    case RuleType.footnote:
    case RuleType.ref:
    case RuleType.htmlBlock:
    case RuleType.htmlSelfClosing:
      return null
    default:
      return node satisfies never
  }
}

const FORMATS: ReadonlyMap<string, string> = new Map(['strong', 'em', 'del', 'mark'].map(tag => [tag, tag]))

type Inside = (nodes: readonly Node[]) => ReactNode

const items = (lists: readonly (readonly Node[])[], inside: Inside): ReactNode =>
  createElement(Fragment, null, ...lists.map(list => createElement('li', null, inside(list))))

function table({ header, cells, align }: MarkdownToJSX.TableNode, inside: Inside): ReactNode {
  const row = (tag: 'th' | 'td', columns: readonly (readonly Node[])[]) =>
    createElement(
      'tr',
      null,
      ...columns.map((column, index) =>
        createElement(tag, { style: { textAlign: align[index] ?? undefined } }, inside(column)),
      ),
    )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <div className={classes.scroll} tabIndex={0}>
      <table>
        <thead>{row('th', header)}</thead>
        {createElement('tbody', null, ...cells.map(columns => row('td', columns)))}
      </table>
    </div>
  )
}

/** Footnotes, with their numbers. Other definitions are shown by the links that use them. */
const notes = ({ refs }: MarkdownToJSX.ReferenceCollectionNode): ReactNode =>
  createElement(
    Fragment,
    null,
    ...Object.entries(refs)
      .filter(([name]) => name.startsWith('^'))
      .map(([name, { target }]) =>
        createElement(
          'p',
          { className: classes.note },
          createElement(ShownText, { text: `${name.slice(1)}: ${target}` }),
        ),
      ),
  )

/** A link can't contain other links. */
const NO_NAMES: ReadonlyMap<string, () => void> = new Map()

/** A link with the host that it leads to. Targets that aren't web addresses are text. */
function Target({ target, children }: { target: string; children: ReactNode }) {
  const url = webAddress(target)
  if (!url) {
    return (
      <>
        {children} (<ShownText text={target} />)
      </>
    )
  }
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
        <CitedNames value={NO_NAMES}>{children}</CitedNames>
      </a>{' '}
      <Text span c="dimmed" inherit>
        ({url.host})
      </Text>
    </>
  )
}

function webAddress(target: string): URL | undefined {
  if (!/^https?:\/\//i.test(target)) return undefined
  return URL.parse(target) ?? undefined
}
