package dev.palisade.gateway;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.Rejection;
import java.io.StringWriter;
import java.util.Map;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * Refusal as an error of S3, whose clients read nothing else: the reason is its code, the detail its message, and all
 * metadata of the rejection are elements. The statuses are those of {@link ProblemDetail}.
 */
final class S3Error {
    private S3Error() {}

    /** Whether the request is signed by AWS Signature Version 4, in a header or in the query. */
    static boolean isFor(RequestHeaders headers) {
        return headers.get("authorization", "").startsWith("AWS4-")
                || headers.path().contains("X-Amz-Signature=");
    }

    static AggregatedHttpResponse of(HttpStatus status, Rejection rejection) {
        return AggregatedHttpResponse.of(
                ProblemDetail.headers(status, rejection, MediaType.APPLICATION_XML_UTF_8),
                HttpData.ofUtf8(xml(CallProtocol.withApplied(rejection))));
    }

    private static String xml(Rejection rejection) {
        StringWriter text = new StringWriter();
        try {
            XMLStreamWriter xml = XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(text);
            xml.writeStartDocument("UTF-8", "1.0");
            xml.writeStartElement("Error");
            element(xml, "Code", rejection.reason().name());
            element(xml, "Message", rejection.message());
            for (Map.Entry<String, String> each : rejection.metadata().entrySet()) {
                element(xml, each.getKey(), each.getValue());
            }
            xml.writeEndElement();
            xml.writeEndDocument();
            return text.toString();
        } catch (XMLStreamException e) {
            throw new IllegalStateException("a string takes all that is written", e);
        }
    }

    private static void element(XMLStreamWriter xml, String name, String value) throws XMLStreamException {
        xml.writeStartElement(name);
        xml.writeCharacters(value);
        xml.writeEndElement();
    }
}
