/*
 * Values shared by all contract examples. They tell one story: a support pipeline answered a question about a warranty,
 * and somebody said that the answer was wrong.
 */

export const TRACE_ID = 'trace_0123456789abcdef012345'
export const TRACE_UUID = '5b0c7d5e-9f0e-5d5a-8a43-0f3a1f8f2f11'
export const ROOT_SPAN_ID = '8a1e4a7c-1c2d-5b6f-9d3e-6b1f0c2a4e21'
export const SPAN_ID = '3f2b8c1a-6d4e-4f7a-9b2c-1e5d8a7f6c31'
export const OBSERVATION_ID = 'd4f1a2b3-7c8d-4e9f-8a1b-2c3d4e5f6a41'
export const FEEDBACK_ID = 'ticket-4711'
export const FEEDBACK_UUID = 'c2a9e7d1-4b3f-5c8e-a6d2-7f1b9e3c5d51'
export const PROJECT_ID = '6e4d2c1b-8a7f-4e5d-9c3b-2a1f0e9d8c61'
export const DATASET_ID = '7f1e2d3c-4b5a-5c6d-9e8f-7a6b5c4d3e21'
export const PROMPT_ID = 'a7b8c9d0-1e2f-4a3b-8c4d-5e6f7a8b9c71'
export const PROMPT_VERSION_ID = 'b8c9d0e1-2f3a-4b4c-9d5e-6f7a8b9c0d81'
export const PROMPT_DRAFT_ID = 'b8c9d0e1-2f3a-4b4c-9d5e-6f7a8b9c0d82'
export const DOC_ID = 'c9d0e1f2-3a4b-4c5d-8e6f-7a8b9c0d1e91'
export const DOC_VERSION_ID = 'd0e1f2a3-4b5c-4d6e-9f7a-8b9c0d1e2fa1'
export const DOC_DRAFT_ID = 'd0e1f2a3-4b5c-4d6e-9f7a-8b9c0d1e2fa2'
export const KEY_ID = 'e1f2a3b4-5c6d-4e7f-8a8b-9c0d1e2f3ab1'
export const USER_ID = 'f2a3b4c5-6d7e-5f8a-9b9c-0d1e2f3a4bc1'
export const REVIEW_ID = '14b5c6d7-8f9a-4bac-9d1e-2f3a4b5c6de1'
export const COMMENT_ID = '25c6d7e8-9fa0-4cbd-8e2f-3a4b5c6d7ef1'
export const ATTRIBUTION_ID = '36d7e8f9-a0b1-4cde-8f3a-4b5c6d7e8f01'
export const ENTRY_ID = '14b5c6d7-8e9f-4a1b-9c2d-3e4f5a6b7ce1'
export const REQUEST_ID = '25c6d7e8-9f0a-4b2c-8d3e-4f5a6b7c8df1'
export const ORGANIZATION_ID = '03a4b5c6-7e8f-4a9b-8c0d-1e2f3a4b5cd1'
export const EXPERIMENT_ID = '5b2e8f1d-6c30-4f94-8d7b-9e4c3a2f1d52'
export const BASELINE_ID = '6c3f902e-7d41-4a05-9e8c-af5d4b3a2e63'
export const GATE_ID = '7d40a13f-8e52-5b16-8fad-b06e5c4b3f74'
export const VIEW_ID = '8e51b240-9f63-4c27-a0be-c17f6d5c4085'
export const GUIDELINE_ID = '9f62c351-a074-5d38-81cf-d28a7e6d5196'
export const PROBLEM_ID = 'af73d462-b185-5e49-92d0-e39b8f7e62a7'
export const WEBHOOK_ID = 'b084e573-c296-4f5a-83e1-f4ac909873b8'
export const EVENT_ID = 'c195f684-d3a7-4a6b-94f2-a5bda1a984c9'
export const STARTED = '2026-11-21T09:30:00.000Z'
export const ANSWERED = '2026-11-21T09:30:01.040Z'
export const JUDGED = '2026-11-21T11:12:00.000Z'
export const CREATED = '2026-11-02T08:00:00.000Z'
export const CURSOR = 'YjJmYzE4OGUxYTQ3OTMwYlsxNzk1MjUzNDAwMDAwXQ'

export const QUESTION = { question: 'How long is the warranty?' }
export const ANSWER = { answer: 'The warranty is 12 months.' }
export const CORRECTION = { answer: 'The warranty is 24 months.' }
export const METADATA = { group_id: 'session-1', customer: { tier: 'gold' } }
export const SCHEMA = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }
