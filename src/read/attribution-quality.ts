import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { attributionQuality } from '../domain/agreement.ts'
import { timestamp } from '../http/atoms.ts'
import { MAX_COMPARED_DECISIONS } from '../limits.ts'
import { compareAnswers } from '../store/attribution/quality.ts'
import { projectSelector, selectedProject } from './project.ts'

const Share = v.nullable(v.number())
const ByDepth = v.object({
  errorType: Share,
  category: v.pipe(Share, v.metadata({ description: 'Of the categories of the error types alone' })),
})

export const getAttributionQuality = endpoint({
  family: 'read',
  method: 'GET',
  path: '/api/attribution-quality',
  summary: 'Compare what engines answered with the error types that reviewers named, trace by trace',
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    from: v.optional(timestamp('Reviews from this time on')),
    to: v.optional(timestamp('Reviews before this time')),
    engine: v.optional(v.pipe(v.string(), v.metadata({ description: 'The last answers of this engine alone' }))),
  }),
  errors: { 404: 'Not found' },
  responses: {
    200: v.object({
      reviewed: v.pipe(
        v.number(),
        v.metadata({
          description:
            'Traces with an answer and a review that counts and names a type: the last answer, the newest such review',
        }),
      ),
      reviewedIsMinimum: v.pipe(
        v.boolean(),
        v.metadata({ description: `Whether the newest ${MAX_COMPARED_DECISIONS} decisions are not all that name one` }),
      ),
      agreement: v.pipe(
        ByDepth,
        v.metadata({
          description: 'The share on which both say the same; reviewers see the answers, so it is an upper bound',
        }),
      ),
      kappa: v.pipe(
        ByDepth,
        v.metadata({ description: "Cohen's κ: 1 is full agreement, 0 what chance would give; null where undefined" }),
      ),
      errorTypes: v.array(
        v.object({
          errorType: v.string(),
          answered: v.number(),
          agreed: v.number(),
          precision: v.number(),
          overruled: v.pipe(
            v.array(v.object({ errorType: v.string(), count: v.number() })),
            v.metadata({ description: 'What reviewers named instead' }),
          ),
        }),
      ),
      engines: v.array(v.object({ engine: v.string(), reviewed: v.number(), agreement: ByDepth })),
      calibration: v.pipe(
        v.array(
          v.object({ from: v.number(), to: v.number(), count: v.number(), meanConfidence: Share, agreement: Share }),
        ),
        v.metadata({ description: 'By tenths of confidence: of answers with 0.8, about 80% should be agreed to' }),
      ),
    }),
  },
}).handle(async context => {
  const { query, store } = context
  const project = await selectedProject(context, query)
  const { compared, isCut, errorTypes } = await compareAnswers(store, project, query)
  const categoryOf = new Map<string, string>(errorTypes.map(({ errorType, category }) => [errorType, category]))
  const quality = attributionQuality(compared, errorType => categoryOf.get(errorType) ?? errorType)
  return { status: 200, body: { ...quality, reviewedIsMinimum: isCut } }
})
