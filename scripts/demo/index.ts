import type { JsonObject } from '../../src/domain/json.ts'
import { EXTRACT_FIELDS } from './invoice-prompts.ts'
import { invoiceTraces } from './invoices.ts'
import { commentsOn, type DemoComment, type DemoPlace, type DemoReview, reviewsOf } from './reviews.ts'
import { supportTraces } from './support.ts'
import { HANDBOOK, type HandbookDoc } from './support-handbook.ts'
import { GENERATE_ANSWER, REWRITE_QUERY } from './support-prompts.ts'
import { DEMO_END, type DemoEvent, type DemoTrace, type PromptVersionId, REVIEWERS, traceEvents } from './trace.ts'
import { CLASSIFY, ROUTE, triageTraces } from './triage.ts'
import { contentOf, type PromptHistory } from './versions.ts'
import { type DemoVote, POLICY, votesOn } from './votes.ts'

export type { DemoEvent, DemoPlace, DemoTrace }
export { DEMO_END, REVIEWERS }

/** A step's prompt with its versions, oldest first. */
interface DemoPrompt {
  stepId: string
  versions: { content: string; outputSchema: JsonObject; note: string }[]
  /** The day from which each version was current; null for a draft. */
  since: (string | null)[]
}

/** A knowledge doc with its versions, oldest first. */
interface DemoKnowledgeDoc {
  slug: string
  title: string
  versions: { content: string; note: string }[]
  /** The same as in `DemoPrompt`. */
  since: (string | null)[]
}

export interface DemoProject {
  slug: string
  name: string
  prompts: DemoPrompt[]
  knowledgeDocs: DemoKnowledgeDoc[]
  /** The events of its traces, oldest trace first, in the order a pipeline would post them. */
  events: (promptVersionId: PromptVersionId) => DemoEvent[]
  /** The reviewers' decisions, posted after all events; at most one per output. */
  reviews: DemoReview[]
  /** The reviewers' comments on outputs, in order. */
  comments: DemoComment[]
  /** Which outputs are reviewed, and by how many people. Set after the reviews. */
  policy: object
  /** The votes on outputs that several people review, and the adjudicator's decisions, in order. */
  votes: DemoVote[]
}

/** All runs of the demo with their mistakes, oldest first. */
export function demoTraces(): DemoTrace[] {
  const traces: DemoTrace[] = [...supportTraces(), ...triageTraces(), ...invoiceTraces()]
  return traces.sort((left, right) => left.startedAt - right.startedAt)
}

/** The projects of the demo. They're the same on every machine and at any time. */
export function demoProjects(): DemoProject[] {
  const traces = demoTraces()
  return PROJECTS.map(({ slug, name, prompts, handbook }) => {
    const own = traces.filter(({ project }) => project === slug)
    return {
      slug,
      name,
      prompts: prompts.map(demoPrompt),
      knowledgeDocs: handbook.map(demoKnowledgeDoc),
      events: promptVersionId => own.flatMap(trace => traceEvents(trace, promptVersionId)),
      reviews: own.flatMap(reviewsOf),
      comments: commentsOn(own),
      policy: slug === 'support' ? POLICY : {},
      votes: votesOn(own),
    }
  })
}

interface Project {
  slug: DemoTrace['project']
  name: string
  prompts: readonly PromptHistory[]
  handbook: readonly HandbookDoc[]
}

const PROJECTS: readonly Project[] = [
  {
    slug: 'support',
    name: 'Customer support',
    prompts: [REWRITE_QUERY, GENERATE_ANSWER, CLASSIFY, ROUTE],
    handbook: HANDBOOK,
  },
  { slug: 'back-office', name: 'Back office', prompts: [EXTRACT_FIELDS], handbook: [] },
]

const demoPrompt = (prompt: PromptHistory): DemoPrompt => ({
  stepId: prompt.stepId,
  versions: prompt.versions.map(({ note, outputSchema }, index) => ({
    content: contentOf(prompt, index + 1),
    outputSchema,
    note,
  })),
  since: prompt.versions.map(({ since = null }) => since),
})

const demoKnowledgeDoc = (doc: HandbookDoc): DemoKnowledgeDoc => ({
  slug: doc.slug,
  title: doc.title,
  versions: doc.versions.map(({ note }, index) => ({ content: contentOf(doc, index + 1), note })),
  since: doc.versions.map(({ since = null }) => since),
})
