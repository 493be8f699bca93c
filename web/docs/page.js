window.SwaggerUIBundle({
  url: '/v4/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  persistAuthorization: false,
  validatorUrl: null,
})
